// Which assertions of a dataset are the strongest?
// $dataset: the dataset's name within its source, e.g. /d/tacit/sample
MATCH (h)-[r]->(t)
WHERE r.dataset = $dataset
RETURN h.text AS head, type(r) AS relation, t.text AS tail, max(r.weight) AS weight
ORDER BY weight DESC, head, relation, tail
LIMIT 100
