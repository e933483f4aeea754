// Who says that a concept relates to another one: sources, datasets, licences, contributors and senses?
// $head: an English concept, e.g. dog
// $tail: another one, e.g. animal
MATCH (h:Concept {uri: '/c/en/' + replace(toLower($head), ' ', '_')})-[r]->(t:Concept {uri: '/c/en/' + replace(toLower($tail), ' ', '_')})
RETURN type(r) AS relation, r.weight AS weight, coalesce(r.source, '') AS source, coalesce(r.dataset, '') AS dataset,
       coalesce(r.license, '') AS license, coalesce(r.contributors, '') AS contributors,
       coalesce(r.head_sense, '') AS head_sense, coalesce(r.tail_sense, '') AS tail_sense
ORDER BY relation, weight DESC, source, dataset, head_sense, tail_sense, license, contributors
