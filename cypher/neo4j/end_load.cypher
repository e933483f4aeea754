// Note in the manifest that the load of this name is done.
MATCH (m:Manifest {key: 'tacit'})
SET m.unfinished = [name IN coalesce(m.unfinished, []) WHERE name <> $name]
