// What is to a third concept as a second is to a first?
// $first: an English concept, e.g. bird
// $second: what is related to it, e.g. fly
// $third: the concept to find a counterpart for, e.g. fish
MATCH (a:Concept {uri: '/c/en/' + replace(toLower($first), ' ', '_')})-[r]->
      (b:Concept {uri: '/c/en/' + replace(toLower($second), ' ', '_')})
MATCH (x:Concept {uri: '/c/en/' + replace(toLower($third), ' ', '_')})-[s]->(y:Concept)
WHERE type(r) = type(s)
RETURN type(s) AS relation, y.text AS counterpart, max(s.weight) AS weight
ORDER BY weight DESC, relation, counterpart
