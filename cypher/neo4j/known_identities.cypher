// Those of the identities given that assertions of a relation have.
UNWIND $ids AS id
MATCH ()-[r:`RELATION` {id: id}]->()
RETURN r.id AS id
