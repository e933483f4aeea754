// The assertions about the events that mention a concept, by one relation, or by all when it is empty.
MATCH (c:Concept {uri: $concept})<-[m:Mentions]-(e:Event)-[r]->(t:Event)
WHERE type(r) <> 'SameEvent' AND ($relation = '' OR type(r) = $relation)
RETURN e.uri AS event, m.role AS role, type(r) AS relation, t.uri AS tail,
       r.weight AS weight, r.source AS source, r.dataset AS dataset
