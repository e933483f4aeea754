// The distinct pairs of triples that lead from a source over a middle concept to a target, whatever the direction of each.
MATCH (a:Concept)-[r]->(m:Concept)-[q]->(b:Concept)
WHERE a.uri IN $sources AND b.uri IN $targets AND a.uri <> m.uri AND m.uri <> b.uri AND a.uri <> b.uri
RETURN DISTINCT a.uri AS source, m.uri AS middle, b.uri AS target,
       true AS from_source, type(r) AS first, true AS from_middle, type(q) AS second
UNION ALL
MATCH (a:Concept)-[r]->(m:Concept)<-[q]-(b:Concept)
WHERE a.uri IN $sources AND b.uri IN $targets AND a.uri <> m.uri AND m.uri <> b.uri AND a.uri <> b.uri
RETURN DISTINCT a.uri AS source, m.uri AS middle, b.uri AS target,
       true AS from_source, type(r) AS first, false AS from_middle, type(q) AS second
UNION ALL
MATCH (a:Concept)<-[r]-(m:Concept)-[q]->(b:Concept)
WHERE a.uri IN $sources AND b.uri IN $targets AND a.uri <> m.uri AND m.uri <> b.uri AND a.uri <> b.uri
RETURN DISTINCT a.uri AS source, m.uri AS middle, b.uri AS target,
       false AS from_source, type(r) AS first, true AS from_middle, type(q) AS second
UNION ALL
MATCH (a:Concept)<-[r]-(m:Concept)<-[q]-(b:Concept)
WHERE a.uri IN $sources AND b.uri IN $targets AND a.uri <> m.uri AND m.uri <> b.uri AND a.uri <> b.uri
RETURN DISTINCT a.uri AS source, m.uri AS middle, b.uri AS target,
       false AS from_source, type(r) AS first, false AS from_middle, type(q) AS second
