// The identities of all links.
MATCH (:Event)-[r:Mentions|SameEvent]->() RETURN r.id AS id
