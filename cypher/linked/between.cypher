// Every assertion and link from one of the first concepts and events to one of the second.
MATCH (a:Concept|Event)-[r]->(b:Concept|Event)
WHERE a.uri IN $heads AND b.uri IN $tails AND a.uri <> b.uri
RETURN a.uri AS head, type(r) AS relation, b.uri AS tail,
       coalesce(r.weight, 1.0) AS weight, coalesce(r.source, 'tacit link') AS source, r.dataset AS dataset, r.license AS license,
       r.contributors AS contributors, r.head_sense AS head_sense, r.tail_sense AS tail_sense, r.rank AS rank, r.score AS score
