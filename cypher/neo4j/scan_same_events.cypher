// Every link between events of the same meaning.
MATCH (a:Event)-[r:SameEvent]->(b:Event)
RETURN a.uri AS head, b.uri AS tail
