// Replace the properties of the manifest node.
MERGE (m:Manifest {key: 'tacit'})
SET m.loads = $loads, m.assertions = $assertions, m.checksum = $checksum
