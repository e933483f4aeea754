// The events with tails whose text holds a text, whatever the case of either.
MATCH (e:Event)-[r]->(t:Event)
WHERE toLower(e.text) CONTAINS $text
RETURN DISTINCT e.uri AS uri, e.text AS text
