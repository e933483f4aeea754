// Every distinct pair of relations from a source and from a target to a middle concept.
MATCH (a:Concept)-[r]->(m:Concept)<-[q]-(b:Concept)
WHERE a.uri IN $sources AND b.uri IN $targets AND a.uri <> m.uri AND m.uri <> b.uri AND a.uri <> b.uri
RETURN DISTINCT a.uri AS source, m.uri AS middle, b.uri AS target, type(r) AS first, type(q) AS second
