// Which concepts hang by a single assertion, and on what?
MATCH (c:Concept)-[r]-(other:Concept)
WHERE c.uri <> other.uri
WITH c.text AS concept, count(r) AS assertions, min(other.text) AS neighbour, min(type(r)) AS relation
WHERE assertions = 1
RETURN concept, relation, neighbour
ORDER BY concept
LIMIT 100
