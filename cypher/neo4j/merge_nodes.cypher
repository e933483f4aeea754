// Make the nodes that are not there yet.
UNWIND $rows AS row
MERGE (n:`LABEL` {uri: row.uri})
ON CREATE SET n = row
