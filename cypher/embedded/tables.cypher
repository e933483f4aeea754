// The tables of the database, with their numbers.
CALL show_tables() RETURN id, name, type
