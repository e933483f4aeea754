// The assertions that say what a claim of an explanation says, by any source, strongest first.
MATCH (a:Concept|Event {uri: $head})-[r]->(b:Concept|Event {uri: $tail})
WHERE type(r) = $relation
RETURN a.text AS head_text, type(r) AS relation, b.text AS tail_text, r.weight AS weight,
       coalesce(r.source, '') AS source, coalesce(r.dataset, '') AS dataset
ORDER BY weight DESC, source, dataset
