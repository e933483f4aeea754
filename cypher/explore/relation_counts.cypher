// How many assertions does each relation have, and how strong are they?
MATCH ()-[r]->()
RETURN type(r) AS relation, count(*) AS assertions, min(r.weight) AS weakest, max(r.weight) AS strongest
ORDER BY assertions DESC, relation
