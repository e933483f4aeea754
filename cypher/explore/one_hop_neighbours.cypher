// Which concepts are directly related to a concept, by any relation in either direction?
// $concept: an English concept, e.g. dog
MATCH (c:Concept {uri: '/c/en/' + replace(toLower($concept), ' ', '_')})-[r]-(n:Concept)
WHERE n.uri <> c.uri
RETURN n.text AS neighbour, n.uri AS uri, max(r.weight) AS weight
ORDER BY weight DESC, uri
