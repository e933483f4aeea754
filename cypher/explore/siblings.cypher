// Which other things are of the same kind as a concept?
// $concept: an English concept, e.g. guitar
MATCH (c:Concept {uri: '/c/en/' + replace(toLower($concept), ' ', '_')})-[r:IsA]->(k:Concept)<-[s:IsA]-(other:Concept)
WHERE other.uri <> c.uri
RETURN k.text AS kind, other.text AS sibling, max(s.weight) AS weight
ORDER BY kind, weight DESC, sibling
