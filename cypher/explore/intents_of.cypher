// Why does somebody do something, and what does it take?
// $event: an event as ATOMIC writes it, e.g. PersonX cooks dinner for PersonY
MATCH (e:Event {uri: '/e/' + replace(replace($event, '___', '[]'), ' ', '_')})-[r:xIntent|xNeed|xReason]->(t:Event)
RETURN type(r) AS relation, t.text AS reason, max(r.weight) AS weight
ORDER BY weight DESC, relation, reason
