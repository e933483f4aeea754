// Every assertion from one of the first concepts to one of the second.
MATCH (a:Concept)-[r]->(b:Concept)
WHERE a.uri IN $heads AND b.uri IN $tails AND a.uri <> b.uri
RETURN a.uri AS head, type(r) AS relation, b.uri AS tail,
       r.weight AS weight, r.source AS source, r.dataset AS dataset, r.license AS license, r.contributors AS contributors,
       r.head_sense AS head_sense, r.tail_sense AS tail_sense, r.rank AS rank, r.score AS score
