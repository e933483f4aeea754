// For each of many sets of sources and targets, the numbers of connected pairs and of distinct triples, in either direction.
// With the hints, the plan does not depend on which statistics the server had when it was made.
CYPHER replan=skip
UNWIND $sets AS ends
MATCH (a:Concept)-[r]-(b:Concept)
USING INDEX SEEK a:Concept(uri)
USING INDEX SEEK b:Concept(uri)
WHERE a.uri IN ends.sources AND b.uri IN ends.targets AND a <> b
RETURN ends.number AS number, count(DISTINCT [a, b]) AS pairs, count(DISTINCT [startNode(r), type(r), endNode(r)]) AS triples
