// No two nodes of a label have one URI.
CREATE CONSTRAINT `NAME` IF NOT EXISTS FOR (n:`LABEL`) REQUIRE n.uri IS UNIQUE
