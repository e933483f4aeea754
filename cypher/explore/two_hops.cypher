// Which concepts stand between two concepts, and how is each related to them?
// $first: an English concept, e.g. dog
// $second: another one, e.g. sleep
MATCH (a:Concept {uri: '/c/en/' + replace(toLower($first), ' ', '_')})-[r]-(m:Concept)-[s]-(b:Concept {uri: '/c/en/' + replace(toLower($second), ' ', '_')})
WHERE m.uri <> a.uri AND m.uri <> b.uri
RETURN m.text AS middle, type(r) AS relation_to_first, type(s) AS relation_to_second,
       max(r.weight) AS weight_to_first, max(s.weight) AS weight_to_second
ORDER BY weight_to_first DESC, weight_to_second DESC, middle, relation_to_first, relation_to_second
