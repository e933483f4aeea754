// What do two concepts have in common: what is said of both by the same relation?
// $first: an English concept, e.g. cat
// $second: another one, e.g. dog
MATCH (a:Concept {uri: '/c/en/' + replace(toLower($first), ' ', '_')})-[r]->(t:Concept)<-[s]-(b:Concept {uri: '/c/en/' + replace(toLower($second), ' ', '_')})
WHERE type(r) = type(s)
RETURN type(r) AS relation, t.text AS shared, max(r.weight) AS weight_of_first, max(s.weight) AS weight_of_second
ORDER BY weight_of_first DESC, weight_of_second DESC, relation, shared
