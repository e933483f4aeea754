// As expand, for so few concepts that looking at each URI in turn beats a join over all of them.
MATCH (a:Concept)-[r]-(b:Concept)
WHERE a.uri IN $uris AND a.uri <> b.uri AND (size($relations) = 0 OR type(r) IN $relations)
RETURN a.uri AS concept, b.uri AS neighbour, max(r.weight) AS weight
