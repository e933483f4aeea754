// Shortest-path lengths from each source to each target, within six hops, without links.
MATCH (a:Concept)-[r* SHORTEST 1..6 (link, node | WHERE link.relation <> 'Mentions')]-(b:Concept)
WHERE a.uri IN $sources AND b.uri IN $targets AND a.uri <> b.uri
RETURN a.uri AS source, b.uri AS target, length(r) AS hops
