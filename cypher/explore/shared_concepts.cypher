// Which concepts are directly related to the concepts of two sentences alike?
// $first: the English concepts of one sentence, e.g. ["dog", "walk"]
// $second: the English concepts of the other, e.g. ["park", "leash"]
UNWIND $first AS one
MATCH (a:Concept {uri: '/c/en/' + replace(toLower(one), ' ', '_')})-[r]-(m:Concept)
WITH m, count(DISTINCT a.uri) AS of_first, max(r.weight) AS weight_to_first
UNWIND $second AS other
MATCH (m)-[s]-(b:Concept {uri: '/c/en/' + replace(toLower(other), ' ', '_')})
RETURN m.text AS concept, of_first, count(DISTINCT b.uri) AS of_second, weight_to_first, max(s.weight) AS weight_to_second
ORDER BY of_first DESC, of_second DESC, weight_to_first DESC, weight_to_second DESC, concept
