// Where is a concept typically found?
// $concept: an English concept, e.g. book
MATCH (c:Concept {uri: '/c/en/' + replace(toLower($concept), ' ', '_')})-[r:AtLocation]->(place:Concept)
RETURN place.text AS location, max(r.weight) AS weight
ORDER BY weight DESC, location
