// How many assertions does each relation have, and how strong are they?
MATCH ()-[r]->()
WHERE NOT type(r) IN ['Mentions', 'SameEvent']
RETURN type(r) AS relation, count(*) AS assertions, min(r.weight) AS weakest, max(r.weight) AS strongest
ORDER BY assertions DESC, relation
