// The exact names of the relations in a table.
MATCH ()-[r:`RELATION`]->() RETURN DISTINCT r.relation AS name
