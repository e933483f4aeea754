// Every link to an event of the same meaning of the events in a window of their table, with numbers for nodes.
MATCH (a:Event)-[r:SameEvent]->(b:Event)
WHERE id(a) >= internal_id($label, $start) AND id(a) < internal_id($label, $stop)
RETURN offset(id(a)) AS head, r.relation AS type, offset(id(b)) AS tail, r.relation AS relation, r.id AS id
