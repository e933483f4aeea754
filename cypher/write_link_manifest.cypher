// Replace the properties of the node that says what the links were made of.
MERGE (m:Manifest {key: 'links'})
SET m.loads = $loads, m.assertions = $assertions, m.checksum = $checksum
