// How many hops lie between the concepts of two lists, and which weight, 1 / hops, does GRADE give to each pair?
// Pairs without a path within six hops have no row, nor does a concept with itself; links from events are not followed.
// $first: URIs of concepts, e.g. ["/c/en/dog", "/c/en/walk"]
// $second: URIs of other concepts, e.g. ["/c/en/park", "/c/en/leash"]
MATCH p = shortestPath((a:Concept)-[*..6]-(b:Concept))
WHERE a.uri IN $first AND b.uri IN $second AND a.uri <> b.uri
  AND none(link IN relationships(p) WHERE type(link) = 'Mentions')
RETURN a.uri AS first_uri, b.uri AS second_uri, length(p) AS hops, 1.0 / length(p) AS weight
ORDER BY hops, first_uri, second_uri
