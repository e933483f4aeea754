// Which events speak of something, and how much is known about each?
// $word: letters that the event's text holds, e.g. umbrella
MATCH (e:Event)-[r]->(t:Event)
WHERE e.text CONTAINS $word AND type(r) <> 'SameEvent'
RETURN e.text AS happening, count(*) AS assertions
ORDER BY assertions DESC, happening
