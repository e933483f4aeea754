// The constraint that URIs are unique among the nodes of a label.
CREATE CONSTRAINT `NAME` IF NOT EXISTS FOR (n:`LABEL`) REQUIRE n.uri IS UNIQUE
