// The nodes of a label that are tails of assertions by some relations, or by any when there are none; with relations and sources.
MATCH (a:`LABEL`)-[r]->(b:`LABEL`)
WHERE type(r) <> 'SameEvent' AND (size($relations) = 0 OR type(r) IN $relations)
RETURN DISTINCT b.uri AS uri, type(r) AS relation, r.source AS source
