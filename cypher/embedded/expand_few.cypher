// As expand, for few concepts, for which a look-up of each URI is faster than a join.
MATCH (a:Concept)-[r]-(b:Concept)
WHERE a.uri IN $uris AND a.uri <> b.uri AND (size($relations) = 0 OR type(r) IN $relations)
RETURN a.uri AS concept, b.uri AS neighbour, max(r.weight) AS weight
