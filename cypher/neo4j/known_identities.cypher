// Those of the given identities that assertions of a relation have.
// With the hint, a plan that was made while the graph was empty does not scan it when it is full.
CYPHER replan=skip
UNWIND $ids AS id
MATCH ()-[r:`RELATION` {id: id}]->()
USING INDEX r:`RELATION`(id)
RETURN r.id AS id
