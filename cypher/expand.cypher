// For each of many concepts, its neighbours by any of the relations, or by all when there are none, with the largest weight.
UNWIND $uris AS uri
MATCH (a:Concept {uri: uri})-[r]-(b:Concept)
WHERE a.uri <> b.uri AND (size($relations) = 0 OR type(r) IN $relations)
RETURN a.uri AS concept, b.uri AS neighbour, max(r.weight) AS weight
