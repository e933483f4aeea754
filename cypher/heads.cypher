// The events with tails whose text contains a text, ignoring case.
MATCH (e:Event)-[r]->(t:Event)
WHERE toLower(e.text) CONTAINS $text AND type(r) <> 'SameEvent'
RETURN DISTINCT e.uri AS uri, e.text AS text
