// Which feelings go with a concept, of the person who acts and of others?
// Needs the links of tacit link.
// $concept: the concept's text, e.g. exam
MATCH (c:Concept {uri: '/c/en/' + replace($concept, ' ', '_')})<-[:Mentions]-(e:Event)-[r:xReact|oReact]->(feeling:Event)
RETURN feeling.text AS reaction, type(r) AS relation, count(DISTINCT e.uri) AS happenings, min(e.text) AS happening
ORDER BY happenings DESC, reaction, relation
