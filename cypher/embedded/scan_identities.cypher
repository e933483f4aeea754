// The identities of all assertions.
MATCH ()-[r]->() RETURN r.id AS id
