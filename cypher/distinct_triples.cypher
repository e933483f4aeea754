// The distinct triples from one of the first concepts to one of the second.
MATCH (a:Concept)-[r]->(b:Concept)
WHERE a.uri IN $heads AND b.uri IN $tails AND a.uri <> b.uri
RETURN DISTINCT a.uri AS head, type(r) AS relation, b.uri AS tail
