// Create the nodes that are missing.
UNWIND $rows AS row
MERGE (n:`LABEL` {uri: row.uri})
ON CREATE SET n = row
