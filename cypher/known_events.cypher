// The events among the URIs given.
UNWIND $uris AS uri
MATCH (e:Event {uri: uri})
RETURN e.uri AS uri
