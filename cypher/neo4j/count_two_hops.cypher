// For each of many sets, the numbers of pairs that are connected through a middle concept, and of distinct pairs of triples.
// A pair of triples that is found from both of its ends counts once, so it is written down from the end with the smaller URI.
// With the hints, the plan does not depend on which statistics the server had when it was made.
CYPHER replan=skip
UNWIND $sets AS ends
MATCH (a:Concept)-[r]-(m:Concept)-[q]-(b:Concept)
USING INDEX SEEK a:Concept(uri)
USING INDEX SEEK b:Concept(uri)
WHERE a.uri IN ends.sources AND b.uri IN ends.targets AND a <> m AND m <> b AND a <> b
RETURN ends.number AS number, count(DISTINCT [a, b]) AS pairs,
       count(DISTINCT CASE WHEN a.uri < b.uri
                           THEN [m, a, type(r), startNode(r), b, type(q), startNode(q)]
                           ELSE [m, b, type(q), startNode(q), a, type(r), startNode(r)] END) AS triples
