// Which pairs are said to mean the same and to be opposites?
MATCH (a:Concept)-[s:Synonym]-(b:Concept)-[o:Antonym]-(a)
WHERE a.uri < b.uri
RETURN a.text AS first, b.text AS second, max(s.weight) AS weight_alike, max(o.weight) AS weight_opposite
ORDER BY weight_alike DESC, weight_opposite DESC, first, second
