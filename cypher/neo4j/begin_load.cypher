// Note in the manifest that a load of this name has begun.
MATCH (m:Manifest {key: 'tacit'})
SET m.unfinished = [name IN coalesce(m.unfinished, []) WHERE name <> $name] + $name
