// Which events mention a concept, in which role, and how much is known about each?
// Needs the links of tacit link.
// $concept: the concept's text, e.g. dog
MATCH (c:Concept {uri: '/c/en/' + replace($concept, ' ', '_')})<-[m:Mentions]-(e:Event)-[r]->(t:Event)
WHERE type(r) <> 'SameEvent'
RETURN e.text AS happening, m.role AS part, m.position AS words_before, count(*) AS assertions
ORDER BY assertions DESC, happening
