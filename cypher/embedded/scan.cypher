// Every assertion whose head is in a window of the label's node table.
MATCH (a:`LABEL`)-[r]->(b:`LABEL`)
WHERE id(a) >= internal_id($label, $start) AND id(a) < internal_id($label, $stop) AND type(r) <> 'SameEvent'
RETURN a.uri AS head, type(r) AS relation, b.uri AS tail,
       r.weight AS weight, r.source AS source, r.dataset AS dataset, r.license AS license, r.contributors AS contributors,
       r.head_sense AS head_sense, r.tail_sense AS tail_sense, r.rank AS rank, r.score AS score
