// What was loaded, as the one manifest node tells it.
MATCH (m:Manifest {key: 'tacit'}) RETURN m.loads AS loads, m.assertions AS assertions, m.checksum AS checksum
