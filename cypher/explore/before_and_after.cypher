// What happens before and after an event?
// $event: an event as ATOMIC writes it, e.g. PersonX wakes up late
MATCH (e:Event {uri: '/e/' + replace(replace($event, '___', '[]'), ' ', '_')})-[r:isAfter|isBefore]->(t:Event)
RETURN type(r) AS relation, t.text AS happening, max(r.weight) AS weight
ORDER BY relation DESC, weight DESC, happening
