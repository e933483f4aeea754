// The assertions about an event, by one relation, or by all when it is empty.
MATCH (a:Event {uri: $head})-[r]->(b:Event)
WHERE $relation = '' OR type(r) = $relation
RETURN a.uri AS head, type(r) AS relation, b.uri AS tail,
       r.weight AS weight, r.source AS source, r.dataset AS dataset, r.license AS license, r.contributors AS contributors,
       r.head_sense AS head_sense, r.tail_sense AS tail_sense, r.rank AS rank, r.score AS score
