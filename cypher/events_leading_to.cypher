// The assertions whose tail is one of many events, by any of the relations.
UNWIND $tails AS tail
MATCH (b:Event {uri: tail})<-[r]-(a:Event)
WHERE type(r) IN $relations
RETURN a.uri AS head, type(r) AS relation, b.uri AS tail,
       r.weight AS weight, r.source AS source, r.dataset AS dataset, r.license AS license, r.contributors AS contributors,
       r.head_sense AS head_sense, r.tail_sense AS tail_sense, r.rank AS rank, r.score AS score
