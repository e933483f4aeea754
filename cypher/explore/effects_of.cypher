// What does a concept cause?
// $concept: an English concept, e.g. exercise
MATCH (c:Concept {uri: '/c/en/' + replace(toLower($concept), ' ', '_')})-[r:Causes]->(effect:Concept)
RETURN effect.text AS outcome, max(r.weight) AS weight
ORDER BY weight DESC, outcome
