// Is there an assertion that says what an explanation claims, and who says so with which weight?
// $head: the URI of a concept or an event, e.g. /c/en/dog
// $relation: the relation's name, e.g. IsA
// $tail: the URI of a concept or an event, e.g. /c/en/animal
MATCH (a:Concept|Event {uri: $head})-[r]->(b:Concept|Event {uri: $tail})
WHERE type(r) = $relation
RETURN a.text AS head_text, type(r) AS relation, b.text AS tail_text, r.weight AS weight,
       coalesce(r.source, '') AS source, coalesce(r.dataset, '') AS dataset
ORDER BY weight DESC, source, dataset
