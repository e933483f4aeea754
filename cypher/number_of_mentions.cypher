// For each of many events, the number of concepts that it mentions.
MATCH (e:Event)-[m:Mentions]->(c:Concept)
WHERE e.uri IN $events
RETURN e.uri AS event, count(c) AS mentions
