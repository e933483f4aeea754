// After which events does the person who acts feel a certain way?
// $feeling: a reaction as ATOMIC writes it, e.g. proud
MATCH (e:Event)-[r:xReact]->(t:Event {uri: '/e/' + replace($feeling, ' ', '_')})
RETURN e.text AS happening, max(r.weight) AS weight
ORDER BY weight DESC, happening
