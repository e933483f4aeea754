// Make assertions of one relation between nodes of one label.
UNWIND $rows AS row
MATCH (a:`LABEL` {uri: row.head})
MATCH (b:`LABEL` {uri: row.tail})
CREATE (a)-[r:`RELATION`]->(b)
SET r = row.properties
