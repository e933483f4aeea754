// The URIs of all nodes of a label.
MATCH (n:`LABEL`) RETURN n.uri AS uri
