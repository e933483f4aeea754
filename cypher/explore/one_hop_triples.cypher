// How many pairs and how many triples connect the concepts of two lists directly?
// $first: URIs of concepts, e.g. ["/c/en/dog", "/c/en/walk"]
// $second: URIs of other concepts, e.g. ["/c/en/park", "/c/en/leash", "/c/en/animal"]
MATCH (a:Concept)-[r]-(b:Concept)
WHERE a.uri IN $first AND b.uri IN $second AND a.uri <> b.uri
RETURN count(DISTINCT [a.uri, b.uri]) AS pairs,
       count(DISTINCT [startNode(r).uri, type(r), endNode(r).uri]) AS triples
ORDER BY pairs
