// What is a concept made up of: the things that are part of it?
// $concept: an English concept, e.g. house
MATCH (part:Concept)-[r:PartOf]->(c:Concept {uri: '/c/en/' + replace(toLower($concept), ' ', '_')})
RETURN part.text AS component, max(r.weight) AS weight
ORDER BY weight DESC, component
