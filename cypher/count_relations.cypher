// The number of assertions of each relation, without links.
MATCH ()-[r]->()
WHERE NOT type(r) IN ['Mentions', 'SameEvent']
RETURN type(r) AS relation, count(*) AS assertions
