// The numbers of pairs that are connected through a middle concept, and of distinct pairs of triples that connect them.
// A pair of triples that is found from both of its ends counts once, so it is written down from the end with the smaller URI.
MATCH (a:Concept)-[r]-(m:Concept)-[q]-(b:Concept)
WHERE a.uri IN $sources AND b.uri IN $targets AND a.uri <> m.uri AND m.uri <> b.uri AND a.uri <> b.uri
WITH a.uri AS source, m.uri AS middle, b.uri AS target,
     [a.uri, type(r), CASE WHEN struct_extract(r, '_SRC') = id(a) THEN 'from' ELSE 'to' END] AS near,
     [b.uri, type(q), CASE WHEN struct_extract(q, '_SRC') = id(b) THEN 'from' ELSE 'to' END] AS far
RETURN count(DISTINCT [source, target]) AS pairs,
       count(DISTINCT CASE WHEN source < target THEN [[middle], near, far] ELSE [[middle], far, near] END) AS triples
