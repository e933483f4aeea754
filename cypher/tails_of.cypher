// The assertions about one node of a label, by one relation, or by all when it is empty: a look-up of the node, where the query for many nodes scans the relations.
MATCH (a:`LABEL` {uri: $head})-[r]->(b:`LABEL`)
WHERE type(r) <> 'SameEvent' AND ($relation = '' OR type(r) = $relation)
RETURN a.uri AS head, type(r) AS relation, b.uri AS tail,
       r.weight AS weight, r.source AS source, r.dataset AS dataset, r.license AS license, r.contributors AS contributors,
       r.head_sense AS head_sense, r.tail_sense AS tail_sense, r.rank AS rank, r.score AS score
