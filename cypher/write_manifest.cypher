// Write the manifest node anew.
MERGE (m:Manifest {key: 'tacit'})
SET m.loads = $loads, m.assertions = $assertions, m.checksum = $checksum
