// For each of many concepts and events, its neighbours by assertions and links, with the largest weight; a link has the weight 1.
MATCH (a:Concept|Event)-[r]-(b:Concept|Event)
WHERE a.uri IN $uris AND a.uri <> b.uri
RETURN a.uri AS node, b.uri AS neighbour, max(coalesce(r.weight, 1.0)) AS weight
