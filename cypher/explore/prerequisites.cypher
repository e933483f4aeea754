// What has to happen before something can be done?
// $concept: an English concept, e.g. cook
MATCH (c:Concept {uri: '/c/en/' + replace(toLower($concept), ' ', '_')})-[r:HasPrerequisite]->(needed:Concept)
RETURN needed.text AS prerequisite, max(r.weight) AS weight
ORDER BY weight DESC, prerequisite
