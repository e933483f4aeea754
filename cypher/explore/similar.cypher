// Which concepts resemble a concept most: of which is the same said, by the same relations?
// $concept: an English concept, e.g. guitar
MATCH (c:Concept {uri: '/c/en/' + replace(toLower($concept), ' ', '_')})-[r]->(t:Concept)<-[s]-(other:Concept)
WHERE type(r) = type(s) AND other.uri <> c.uri
WITH DISTINCT other.text AS concept, type(r) AS relation, t.uri AS said
RETURN concept, count(*) AS shared
ORDER BY shared DESC, concept
