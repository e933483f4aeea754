// How are two concepts related, by which relations and in which direction?
// $first: an English concept, e.g. dog
// $second: another one, e.g. bone
UNWIND [{head: '/c/en/' + replace(toLower($first), ' ', '_'), tail: '/c/en/' + replace(toLower($second), ' ', '_')},
        {head: '/c/en/' + replace(toLower($second), ' ', '_'), tail: '/c/en/' + replace(toLower($first), ' ', '_')}] AS pair
MATCH (h:Concept {uri: pair.head})-[r]->(t:Concept {uri: pair.tail})
RETURN h.text AS head, type(r) AS relation, t.text AS tail, max(r.weight) AS weight
ORDER BY weight DESC, head, relation, tail
