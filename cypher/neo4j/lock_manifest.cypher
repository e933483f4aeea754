// Make the manifest node where there is none, and hold its lock until the transaction ends, so that loads take turns.
MERGE (m:Manifest {key: 'tacit'})
ON CREATE SET m.loads = '[]', m.assertions = 0, m.checksum = '0'
SET m.key = 'tacit'
