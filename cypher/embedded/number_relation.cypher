// The assertions of a relation's table whose head is in a window of the label's node table, with numbers for nodes.
// Columns are those of a file for `neo4j-admin database import`.
MATCH (a:`LABEL`)-[r:`RELATION`]->(b:`LABEL`)
WHERE id(a) >= internal_id($label, $start) AND id(a) < internal_id($label, $stop)
RETURN offset(id(a)) AS head, r.relation AS type, offset(id(b)) AS tail, r.relation AS relation,
       r.weight AS weight, r.source AS source, r.dataset AS dataset, r.license AS license, r.contributors AS contributors,
       r.head_sense AS head_sense, r.tail_sense AS tail_sense, r.rank AS rank, r.score AS score, r.id AS id
