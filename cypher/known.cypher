// The concepts among the URIs given.
UNWIND $uris AS uri
MATCH (c:Concept {uri: uri})
RETURN c.uri AS uri
