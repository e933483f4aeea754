// What do people want after an event: the person who acts, and others?
// $event: an event as ATOMIC writes it, e.g. PersonX cooks dinner for PersonY
MATCH (e:Event {uri: '/e/' + replace(replace($event, '___', '[]'), ' ', '_')})-[r:xWant|oWant]->(want:Event)
RETURN type(r) AS relation, want.text AS wish, max(r.weight) AS weight
ORDER BY weight DESC, relation, wish
