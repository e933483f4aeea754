// The concepts in a window of their table, with their numbers.
MATCH (n:Concept)
WHERE id(n) >= internal_id($label, $start) AND id(n) < internal_id($label, $stop)
RETURN offset(id(n)) AS number, n.uri AS uri, n.text AS text, n.language AS language, 'Concept' AS label
