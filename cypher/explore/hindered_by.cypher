// What hinders an event?
// $event: an event as ATOMIC writes it, e.g. PersonX walks PersonX's dog
MATCH (e:Event {uri: '/e/' + replace(replace($event, '___', '[]'), ' ', '_')})-[r:HinderedBy]->(obstacle:Event)
RETURN obstacle.text AS hindrance, max(r.weight) AS weight
ORDER BY weight DESC, hindrance
