// The number of assertions of each relation.
MATCH ()-[r]->() RETURN type(r) AS relation, count(*) AS assertions
