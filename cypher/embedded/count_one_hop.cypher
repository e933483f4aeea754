// The numbers of connected pairs, and of distinct triples, from one of the sources to one of the targets, in either direction.
MATCH (a:Concept)-[r]-(b:Concept)
WHERE a.uri IN $sources AND b.uri IN $targets AND a.uri <> b.uri
RETURN count(DISTINCT [a.uri, b.uri]) AS pairs,
       count(DISTINCT CASE WHEN struct_extract(r, '_SRC') = id(a)
                           THEN [a.uri, type(r), b.uri] ELSE [b.uri, type(r), a.uri] END) AS triples
