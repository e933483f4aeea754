// The events in a window of their table, with their numbers.
MATCH (n:Event)
WHERE id(n) >= internal_id($label, $start) AND id(n) < internal_id($label, $stop)
RETURN offset(id(n)) AS number, n.uri AS uri, n.text AS text, 'Event' AS label
