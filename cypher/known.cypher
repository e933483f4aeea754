// Those of the given URIs that are concepts.
UNWIND $uris AS uri
MATCH (c:Concept {uri: uri})
RETURN c.uri AS uri
