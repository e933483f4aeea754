// Record in the manifest that a load with this name has begun.
MATCH (m:Manifest {key: 'tacit'})
SET m.unfinished = [name IN coalesce(m.unfinished, []) WHERE name <> $name] + $name
