// The URIs in a window of the label's node table.
MATCH (n:`LABEL`)
WHERE id(n) >= internal_id($label, $start) AND id(n) < internal_id($label, $stop)
RETURN n.uri AS uri
