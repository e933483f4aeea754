// Create the manifest node if it is missing and lock it until the transaction ends, so that loads take turns.
MERGE (m:Manifest {key: 'tacit'})
ON CREATE SET m.loads = '[]', m.assertions = 0, m.checksum = '0'
SET m.key = 'tacit'
