// What is a concept used for?
// $concept: an English concept, e.g. knife
MATCH (c:Concept {uri: '/c/en/' + replace(toLower($concept), ' ', '_')})-[r:UsedFor]->(use:Concept)
RETURN use.text AS purpose, max(r.weight) AS weight
ORDER BY weight DESC, purpose
