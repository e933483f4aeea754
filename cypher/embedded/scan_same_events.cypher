// Every link to an event of the same meaning of the events in a window of their table.
MATCH (a:Event)-[r:SameEvent]->(b:Event)
WHERE id(a) >= internal_id($label, $start) AND id(a) < internal_id($label, $stop)
RETURN a.uri AS head, b.uri AS tail
