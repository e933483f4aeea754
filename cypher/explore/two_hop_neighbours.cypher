// Which concepts are exactly two hops from a concept, and how strong is the strongest chain to each, by its weaker assertion?
// $concept: an English concept, e.g. dog
MATCH (c:Concept {uri: '/c/en/' + replace(toLower($concept), ' ', '_')})-[r]-(m:Concept)
WHERE m.uri <> c.uri
WITH c, m, max(r.weight) AS weight_m
MATCH (m)-[s]-(n:Concept)
WHERE n.uri <> c.uri AND NOT EXISTS { (c)--(n) }
RETURN n.text AS neighbour, n.uri AS uri, max(CASE WHEN weight_m < s.weight THEN weight_m ELSE s.weight END) AS weight
ORDER BY weight DESC, uri
