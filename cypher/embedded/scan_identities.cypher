// The identities of the assertions, and links, whose head is in a window of the label's node table.
MATCH (a:`LABEL`)-[r]->()
WHERE id(a) >= internal_id($label, $start) AND id(a) < internal_id($label, $stop)
RETURN r.id AS id
