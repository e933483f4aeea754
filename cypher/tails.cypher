// The assertions about each of many nodes of a label, by any of the relations, or by all when there are none.
UNWIND $heads AS head
MATCH (a:`LABEL` {uri: head})-[r]->(b:`LABEL`)
WHERE type(r) <> 'SameEvent' AND (size($relations) = 0 OR type(r) IN $relations)
RETURN a.uri AS head, type(r) AS relation, b.uri AS tail,
       r.weight AS weight, r.source AS source, r.dataset AS dataset, r.license AS license, r.contributors AS contributors,
       r.head_sense AS head_sense, r.tail_sense AS tail_sense, r.rank AS rank, r.score AS score
