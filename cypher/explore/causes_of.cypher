// What causes a concept, or makes people want it?
// $concept: an English concept, e.g. sleep
MATCH (cause:Concept)-[r:Causes|CausesDesire]->(c:Concept {uri: '/c/en/' + replace(toLower($concept), ' ', '_')})
RETURN cause.text AS reason, type(r) AS relation, max(r.weight) AS weight
ORDER BY weight DESC, reason, relation
