// Every link to a concept of the events in a window of their table, with numbers for nodes.
MATCH (a:Event)-[r:Mentions]->(b:Concept)
WHERE id(a) >= internal_id($label, $start) AND id(a) < internal_id($label, $stop)
RETURN offset(id(a)) AS head, r.relation AS type, offset(id(b)) AS tail, r.relation AS relation,
       r.role AS role, r.position AS position, r.id AS id
