// The manifest node's properties: what was loaded.
MATCH (m:Manifest {key: 'tacit'}) RETURN m.loads AS loads, m.assertions AS assertions, m.checksum AS checksum
