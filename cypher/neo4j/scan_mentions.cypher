// Every link from an event to a concept.
MATCH (a:Event)-[r:Mentions]->(b:Concept)
RETURN a.uri AS head, b.uri AS tail, r.role AS role, r.position AS position
