// What is a concept a kind of, up to three steps up?
// $concept: an English concept, e.g. puppy
MATCH p = (c:Concept {uri: '/c/en/' + replace(toLower($concept), ' ', '_')})-[:IsA*1..3]->(k:Concept)
WHERE k.uri <> c.uri
RETURN k.text AS kind, min(length(p)) AS steps
ORDER BY steps, kind
