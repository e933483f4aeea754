// Those of the identities given that assertions of a relation have.
// The hint keeps a plan that was made while the graph was empty from scanning when it is full.
UNWIND $ids AS id
MATCH ()-[r:`RELATION` {id: id}]->()
USING INDEX r:`RELATION`(id)
RETURN r.id AS id
