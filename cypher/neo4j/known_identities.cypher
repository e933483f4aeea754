// Those of the given identities that assertions of a relation have.
// Without SEEK in the hint, a plan may scan the whole index, and one made while the graph was empty stays when it is full.
CYPHER replan=skip
UNWIND $ids AS id
MATCH ()-[r:`RELATION` {id: id}]->()
USING INDEX SEEK r:`RELATION`(id)
RETURN r.id AS id
