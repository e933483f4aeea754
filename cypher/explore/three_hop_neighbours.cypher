// Which concepts are exactly three hops from a concept, and how strong is the strongest chain to each, by its weakest assertion?
// $concept: an English concept, e.g. dog
MATCH (c:Concept {uri: '/c/en/' + replace(toLower($concept), ' ', '_')})-[r]-(l:Concept)
WHERE l.uri <> c.uri
WITH c, l, max(r.weight) AS weight_l
MATCH (l)-[s]-(m:Concept)
WHERE m.uri <> c.uri AND NOT EXISTS { (c)--(m) }
WITH c, m, max(CASE WHEN weight_l < s.weight THEN weight_l ELSE s.weight END) AS weight_m
MATCH (m)-[t]-(n:Concept)
WHERE n.uri <> c.uri AND NOT EXISTS { (c)--(n) }
WITH c, n, max(CASE WHEN weight_m < t.weight THEN weight_m ELSE t.weight END) AS weight_n
WHERE NOT EXISTS { (c)--(:Concept)--(n) }
RETURN n.text AS neighbour, n.uri AS uri, weight_n AS weight
ORDER BY weight DESC, uri
