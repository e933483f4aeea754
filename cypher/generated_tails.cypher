// The assertions about events whose source begins with a prefix, such as those that a model generated.
MATCH (a:Event)-[r]->(b:Event)
WHERE r.source STARTS WITH $prefix
RETURN a.uri AS head, type(r) AS relation, b.uri AS tail,
       r.weight AS weight, r.source AS source, r.dataset AS dataset, r.license AS license, r.contributors AS contributors,
       r.head_sense AS head_sense, r.tail_sense AS tail_sense, r.rank AS rank, r.score AS score
