// The names of loads that have begun and not finished.
MATCH (m:Manifest {key: 'tacit'})
UNWIND coalesce(m.unfinished, []) AS name
RETURN name ORDER BY name
