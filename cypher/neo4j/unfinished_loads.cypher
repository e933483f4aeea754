// The names of loads that have begun and are not done.
MATCH (m:Manifest {key: 'tacit'})
UNWIND coalesce(m.unfinished, []) AS name
RETURN name ORDER BY name
