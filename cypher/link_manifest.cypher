// The properties of the node that says what the links were made of.
MATCH (m:Manifest {key: 'links'}) RETURN m.loads AS loads, m.assertions AS assertions, m.checksum AS checksum
