// Which datasets and licences does the graph hold, with how many assertions?
MATCH ()-[r]->()
WHERE NOT type(r) IN ['Mentions', 'SameEvent']
RETURN coalesce(r.source, '') AS source, coalesce(r.dataset, '') AS dataset, coalesce(r.license, '') AS license,
       count(*) AS assertions
ORDER BY assertions DESC, source, dataset, license
