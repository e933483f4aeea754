// Delete the links of one relation with the given identities.
UNWIND $ids AS id
MATCH (:Event)-[r:`RELATION` {id: id}]->()
USING INDEX SEEK r:`RELATION`(id)
DELETE r
