// Every link to a concept of the events in a window of their table.
MATCH (a:Event)-[r:Mentions]->(b:Concept)
WHERE id(a) >= internal_id($label, $start) AND id(a) < internal_id($label, $stop)
RETURN a.uri AS head, b.uri AS tail, r.role AS role, r.position AS position
