// Create links of one relation from events to nodes of one label.
UNWIND $rows AS row
MATCH (a:Event {uri: row.head}), (b:`LABEL` {uri: row.tail})
USING INDEX SEEK a:Event(uri)
USING INDEX SEEK b:`LABEL`(uri)
CREATE (a)-[r:`RELATION`]->(b)
SET r = row.properties
