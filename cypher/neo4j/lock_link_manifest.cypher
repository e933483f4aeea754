// Create the node that says what the links were made of if it is missing, and lock it until the transaction ends.
MERGE (m:Manifest {key: 'links'})
ON CREATE SET m.loads = '[]', m.assertions = 0, m.checksum = '0'
SET m.key = 'links'
