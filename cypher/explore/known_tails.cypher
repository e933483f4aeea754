// Which tails of events are known under some relations, by whom?
// $events: events as ATOMIC writes them, e.g. ["PersonX cooks dinner for PersonY", "PersonX wakes up late"]
// $relations: names of relations, e.g. ["xWant", "xReact", "xEffect"]
UNWIND $events AS happening
MATCH (e:Event {uri: '/e/' + replace(replace(happening, '___', '[]'), ' ', '_')})-[r]->(t:Event)
WHERE type(r) IN $relations
RETURN e.text AS head, type(r) AS relation, t.text AS tail, max(r.weight) AS weight, coalesce(r.source, '') AS source
ORDER BY head, relation, weight DESC, tail, source
