// How many pairs, and how many different pairs of triples that share a middle concept, connect the concepts of two lists?
// $first: URIs of concepts, e.g. ["/c/en/dog", "/c/en/walk"]
// $second: URIs of other concepts, e.g. ["/c/en/park", "/c/en/leash", "/c/en/animal"]
MATCH (a:Concept)-[r]-(m:Concept)-[s]-(b:Concept)
WHERE a.uri IN $first AND b.uri IN $second AND a.uri <> m.uri AND m.uri <> b.uri AND a.uri <> b.uri
RETURN count(DISTINCT [a.uri, b.uri]) AS pairs,
       count(DISTINCT CASE WHEN a.uri < b.uri
                           THEN [m.uri, a.uri, type(r), startNode(r).uri, b.uri, type(s), startNode(s).uri]
                           ELSE [m.uri, b.uri, type(s), startNode(s).uri, a.uri, type(r), startNode(r).uri] END) AS triples
ORDER BY pairs
