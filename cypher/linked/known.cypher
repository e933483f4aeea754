// Those of the given URIs that are concepts or events.
MATCH (n:Concept|Event)
WHERE n.uri IN $uris
RETURN n.uri AS uri
