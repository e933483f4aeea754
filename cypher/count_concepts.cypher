// The number of concepts.
MATCH (c:Concept) RETURN count(c) AS concepts
