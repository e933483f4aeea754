// Create assertions of one relation between nodes of one label.
CYPHER replan=skip
UNWIND $rows AS row
MATCH (a:`LABEL` {uri: row.head}), (b:`LABEL` {uri: row.tail})
USING INDEX SEEK a:`LABEL`(uri)
USING INDEX SEEK b:`LABEL`(uri)
CREATE (a)-[r:`RELATION`]->(b)
SET r = row.properties
