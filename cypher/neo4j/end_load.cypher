// Record in the manifest that the load with this name has finished.
MATCH (m:Manifest {key: 'tacit'})
SET m.unfinished = [name IN coalesce(m.unfinished, []) WHERE name <> $name]
