// Which concepts take part in the most assertions?
MATCH (c:Concept)-[r]-(other:Concept)
WHERE c.uri <> other.uri
WITH c.text AS concept, count(r) AS assertions, count(DISTINCT other.uri) AS neighbours
RETURN concept, assertions, neighbours
ORDER BY assertions DESC, concept
LIMIT 25
