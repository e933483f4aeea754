// The labels of the nodes that a relation's table joins.
CALL show_connection('RELATION') RETURN *
