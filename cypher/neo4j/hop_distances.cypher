// Shortest-path lengths of pairs of concepts, within six hops, without links.
UNWIND $pairs AS pair
MATCH (a:Concept {uri: pair[0]}), (b:Concept {uri: pair[1]})
MATCH path = shortestPath((a)-[*..6]-(b))
WHERE all(link IN relationships(path) WHERE type(link) <> 'Mentions')
RETURN a.uri AS source, b.uri AS target, length(path) AS hops
