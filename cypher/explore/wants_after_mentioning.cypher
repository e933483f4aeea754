// What do people want after events that mention all of some concepts, such as losing and a wallet?
// Needs the links of tacit link.
// $words: texts of concepts, e.g. ["study", "exam"]
MATCH (c:Concept)<-[:Mentions]-(e:Event)
WHERE c.language = 'en' AND c.text IN $words
WITH e, count(DISTINCT c.text) AS mentioned
WHERE mentioned = size($words)
MATCH (e)-[r:xWant|oWant]->(want:Event)
RETURN want.text AS wish, type(r) AS relation, count(DISTINCT e.uri) AS happenings, min(e.text) AS happening
ORDER BY happenings DESC, wish, relation
