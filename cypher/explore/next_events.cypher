// What happens after an event's effects, intents and wishes, where these are worded as other events?
// Needs the links of tacit link.
// $event: an event as ATOMIC writes it, e.g. PersonX studies for the exam
MATCH (e:Event {uri: '/e/' + replace(replace($event, '___', '[]'), ' ', '_')})-[r:xIntent|xWant|xEffect|isBefore]->(step:Event)
MATCH (step)-[:SameEvent]-(alike:Event)-[q:xWant|xEffect|xReact|isBefore]->(later:Event)
RETURN type(r) AS relation, step.text AS outcome, type(q) AS next_relation, later.text AS consequence
ORDER BY relation, outcome, next_relation, consequence
