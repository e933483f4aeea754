// Which tails does a relation have most often?
// $relation: a relation's name, e.g. xReact
MATCH (h)-[r]->(t)
WHERE type(r) = $relation
RETURN t.text AS tail, count(*) AS assertions, count(DISTINCT h.uri) AS heads
ORDER BY assertions DESC, heads DESC, tail
LIMIT 100
