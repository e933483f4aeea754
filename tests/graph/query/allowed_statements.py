"""Statements that a user may send and that must work, on both engines or on one, and the graph that they run on."""

from __future__ import annotations

from tacit.graph import Assertion

BENIGN: dict[str, str] = {
    "node": "MATCH (c:Concept {uri: '/c/en/dog'}) RETURN c",
    "nodes by text": "MATCH (c:Concept) WHERE c.text = 'dog' RETURN c.text AS text, c.language AS language",
    "relationship": "MATCH (a:Concept {text: 'dog'})-[r:IsA]->(b:Concept {text: 'animal'}) RETURN r, type(r) AS t",
    "path": "MATCH p = (a:Concept {text: 'puppy'})-[:IsA]->(b:Concept {text: 'dog'}) RETURN p",
    "two hops": "MATCH p = (a:Concept {text: 'puppy'})-[:IsA*2..2]->(b:Concept) RETURN length(p) AS hops, b.text AS t ORDER BY t",
    "event": "MATCH (e:Event)-[r:xWant]->(w:Event) RETURN e.text AS event, w.text AS want ORDER BY event, want",
    "lower case": "match (c:Concept) where c.text = 'dog' return c.text as t",
    "semicolon": "MATCH (c:Concept) RETURN count(c) AS c;",
    "comments": "// DELETE\nMATCH (c:Concept) /* CREATE (n) */ RETURN count(c) AS c // SET x",
    "keywords in strings": "RETURN 'CREATE (n) DETACH DELETE n; DROP // /* ` LOAD CSV FROM' AS s, \"MERGE 'x' SET\" AS t",
    "scan words in strings": "RETURN 'LOAD FROM names COPY x FROM y' AS s",
    "escapes in strings": 'RETURN \'it\\\'s \\\\ "quoted"\' AS s, "a \\"b\\" \'c\'" AS t',
    "unicode escape": "RETURN 'caf\\u00e9' AS s",
    "unicode text": "RETURN 'žluťoučký 犬 🐕 ſET' AS s",
    "injection as text": "MATCH (c:Concept) WHERE c.text = 'dog\\'}) DETACH DELETE n //' RETURN count(c) AS c",
    "quoted keyword alias": "RETURN 1 AS `CREATE (n) DELETE`, 2 AS `a``b` ORDER BY `a``b`",
    "keyword alias": "MATCH (c:Concept) RETURN c.text AS use ORDER BY use LIMIT 1",
    "keyword map keys": "WITH {load: 1, merge: 2, show: 3} AS m RETURN m.load AS a, m.merge AS b, m.show AS c",
    "keyword in parameters": "RETURN $text AS s",
    "labels with keyword letters": "MATCH (c:Concept)-[:CausesDesire|CreatedBy]->(d) RETURN count(*) AS c",
    "optional match": "MATCH (c:Concept {text: 'dog'}) OPTIONAL MATCH (c)-[:MadeOf]->(m) RETURN c.text AS t, m IS NULL AS no",
    "with": "MATCH (c:Concept)-[r:IsA]->(k:Concept) WITH k, count(*) AS kinds WHERE kinds > 0"
    " RETURN k.text AS t, kinds ORDER BY t",
    "with star": "MATCH (c:Concept {text: 'dog'}) WITH * RETURN c.text AS t",
    "unwind": "UNWIND [3, 1, 2] AS x RETURN x ORDER BY x DESC SKIP 1 LIMIT 1",
    "unwind range": "UNWIND range(1, 1000) AS x RETURN count(x) AS c, min(x) AS a, max(x) AS b",
    "unwind maps": "UNWIND [{a: 1, b: 'x'}, {a: 2, b: 'y'}] AS m RETURN m.a AS a, m.b AS b ORDER BY a",
    "union": "RETURN 1 AS x UNION RETURN 1 AS x",
    "union all": "RETURN 1 AS x UNION ALL RETURN 1 AS x",
    "case": "MATCH (c:Concept) RETURN CASE WHEN c.text = 'dog' THEN 1 ELSE 0 END AS is_dog, count(*) AS n ORDER BY is_dog",
    "simple case": "RETURN CASE 2 WHEN 1 THEN 'one' WHEN 2 THEN 'two' END AS word",
    "exists": "MATCH (c:Concept) WHERE EXISTS { MATCH (c)-[:Desires]->(:Concept) } RETURN c.text AS t ORDER BY t",
    "not exists": "MATCH (c:Concept) WHERE NOT EXISTS { MATCH (c)-[:IsA]->(:Concept) } RETURN c.text AS t ORDER BY t",
    "count subquery": "MATCH (c:Concept {text: 'dog'}) RETURN COUNT { MATCH (c)-[:IsA]->(:Concept) } AS kinds",
    "distinct": "MATCH (c:Concept)-[r]->(:Concept) RETURN DISTINCT type(r) AS t ORDER BY t",
    "count distinct": "MATCH (c:Concept)-[r]->(:Concept) RETURN count(DISTINCT type(r)) AS c",
    "boolean": "MATCH (c:Concept) WHERE c.text STARTS WITH 'd' AND NOT c.text ENDS WITH 'y' OR c.text CONTAINS 'upp'"
    " RETURN c.text AS t ORDER BY t",
    "xor": "RETURN true XOR false AS x, NOT true AS y",
    "in": "MATCH (c:Concept) WHERE c.text IN ['dog', 'set', 'create'] RETURN c.text AS t ORDER BY t",
    "null": "RETURN null IS NULL AS a, 1 IS NOT NULL AS b",
    "arithmetic": "RETURN 1 + 2 * 3 - 4 AS a, 7 % 4 AS b, -(2) AS c, 1.5e1 AS d",
    "comparison": "RETURN 1 < 2 AS a, 2 <= 2 AS b, 1 <> 2 AS c, 3 > 2 AS d",
    "regular expression": "MATCH (c:Concept) WHERE c.text =~ '(?i)DOG|pup.*' RETURN c.text AS t ORDER BY t",
    "string functions": "RETURN toUpper('dog') AS a, toLower('DOG') AS b, size('dog') AS c, replace('dog', 'd', 'f') AS d,"
    " trim(' x ') AS e",
    "numbers": "RETURN abs(-1) AS a, ceil(1.5) AS b, floor(1.5) AS c, sign(-3) AS d",
    "coalesce": "MATCH (:Concept)-[r:IsA]->(:Concept) RETURN coalesce(r.dataset, 'none') AS d, count(*) AS c ORDER BY d",
    "list": "RETURN [1, 2, 3] AS l, size([1, 2]) AS n, 2 IN [1, 2] AS has",
    "date": "RETURN date('2020-02-29') AS d",
    "both directions": "MATCH (c:Concept {text: 'dog'})-[r]-(d:Concept) RETURN d.text AS t, type(r) AS s ORDER BY t, s",
    "several patterns": "MATCH (a:Concept {text: 'dog'}), (b:Concept {text: 'bone'}) RETURN a.text AS a, b.text AS b",
    "quoted label": "MATCH (c:`Concept`)-[:`IsA`]->(`set`:Concept) RETURN `set`.text AS t ORDER BY t",
    "quoted property": "MATCH (c:Concept {`text`: 'dog'}) RETURN c.`text` AS t",
    "nodes of a path": "MATCH p = (:Concept {text: 'puppy'})-[:IsA]->(:Concept) RETURN nodes(p) AS n, relationships(p) AS r",
    "map": "RETURN {a: 1, b: 'x'} AS m",
    "sharp s": "MATCH (c:Concept {text: 'dog'}) RETURN c.text AS größe, 1 AS tschüß",
    "optional group": "MATCH (c:Concept) WHERE c.text =~ '^[a-z]+( [a-z]+)?$' RETURN c.text AS t ORDER BY t",
    "choices of words": "MATCH (c:Concept) WHERE c.text =~ '.*(dog|pupp(y|ies))?' RETURN count(c) > 0 AS some",
    "words between others": "MATCH (c:Concept) WHERE c.text = 'dog' WITH c.text AS t, [c.text, c.uri] AS l WITH t, l, t + t AS u"
    " RETURN t, u, size(l) AS n",
    "windows line ends": "MATCH (c:Concept)\r\nWHERE c.text = 'dog' // DELETE\r\nRETURN c.text AS t;\r\n",
    "infinite": "RETURN 1.0 AS x, sqrt(2.0) > 1 AS y",
}
"""Equal rows from both engines, with ``PARAMETERS``."""

PARAMETERS = {"text": "x'}) DETACH DELETE n //"}

ONLY_NEO4J: dict[str, str] = {
    "list comprehension": "RETURN [x IN [1, 2, 3] WHERE x > 1 | x * 2] AS l",
    "pattern comprehension": "MATCH (c:Concept {text: 'dog'}) RETURN size([(c)-[:IsA]->(k) | k.text]) AS n",
    "reduce": "RETURN reduce(s = 0, x IN [1, 2, 3] | s + x) AS s, all(x IN [1] WHERE x > 0) AS a",
    "call subquery": "UNWIND [1, 2] AS x CALL (x) { RETURN x + 1 AS y } RETURN x, y",
    "importing subquery": "UNWIND [1, 2] AS x CALL { WITH x RETURN x + 1 AS y } RETURN x, y",
    "labels": "CALL db.labels() YIELD label WHERE label <> 'Manifest' RETURN label ORDER BY label",
    "standalone call": "CALL db.relationshipTypes()",
    "call without brackets": "CALL db.propertyKeys",
    "many matches": " ".join(
        f"MATCH (a{i}:Concept {{text: 'dog'}})-[r{i}:IsA|Desires|CapableOf|UsedFor]->(b{i})" for i in range(8)
    )
    + " RETURN count(*) > 0 AS some",
    "many subqueries": "MATCH (c:Concept {text: 'dog'}) "
    + " ".join(f"CALL (c) {{ WITH c MATCH (c)-[r:IsA]->(k) RETURN k.text AS k{i}, r.weight AS w{i} LIMIT 1 }}" for i in range(8))
    + " RETURN c.text AS t, k7, w7",
    "shortest path": "MATCH p = shortestPath((:Concept {text: 'puppy'})-[*..4]-(:Concept {text: 'bone'})) RETURN length(p) AS n",
    "any shortest": "MATCH p = ANY SHORTEST (:Concept {text: 'puppy'})-[]-{1,4}(:Concept {text: 'bone'}) RETURN length(p) AS n",
    "quantified pattern": "MATCH (:Concept {text: 'puppy'}) ((a)-[:IsA]->(b)){1,2} (c) RETURN c.text AS t ORDER BY t",
    "quantified plus": "MATCH (:Concept {text: 'puppy'}) ((a)-[:IsA]->(b))+ RETURN count(*) AS c",
    "map projection": "MATCH (c:Concept {text: 'dog'}) RETURN c {.text, .*, set: 1} AS m",
    "keyword variables": "MATCH (load:Concept)-[set:IsA]->(show) WHERE set.weight > 0"
    " RETURN load.text AS t, show.text AS s ORDER BY t, s",
    "keyword label": "MATCH (n:Delete)-[:CREATE]->(m:Load&!Set) RETURN count(*) AS c",
    "keyword aliases": "MATCH (c:Concept) RETURN c.text AS create, c.uri AS delete ORDER BY create, delete LIMIT 1",
    "wildcard label": "MATCH (n) WHERE n:% RETURN count(n) > 0 AS some",
    "collect subquery": "RETURN size(COLLECT { MATCH (c:Concept) RETURN c.text }) > 0 AS some",
    "bare pattern": "MATCH (c:Concept {text: 'dog'}) RETURN COUNT { (c)-[:IsA]->() } AS n, EXISTS { p = (c)--() } AS e",
    "where in a pattern": "MATCH (c:Concept WHERE c.text = 'dog')-[r:IsA WHERE r.weight > 0]->(k) RETURN count(*) AS c",
    "slices": "RETURN [1, 2, 3][0..2] AS l, [1, 2][0] AS x, {a: 1}.a AS y, [1, 2, 3][-1] AS z",
    "types": "RETURN 'x' IS :: STRING NOT NULL AS a, 1 IS NOT TYPED STRING AS b, 'x' IS NORMALIZED AS c",
    "temporal": "RETURN duration('P1DT2H') AS d, date.truncate('year', date('2020-05-05')) AS y, point({x: 1, y: 2}) AS p",
    "type with brackets": "RETURN [1] IS :: LIST<INTEGER NOT NULL> AS a, [1] IS :: LIST<INTEGER> AS b",
    "tests in case": "RETURN CASE 3 WHEN > 2 THEN 'big' WHEN IS NULL THEN 'none' WHEN IS NOT NULL THEN 'some' END AS s",
    "nodes of each path": "MATCH p = (:Concept {text: 'puppy'})-[:IsA*1..2]->() WITH p ORDER BY length(p) WITH collect(p) AS ps"
    " RETURN [p IN ps | [n IN nodes(p) | n.text]] AS words",
    "iteration over the result of one": "RETURN [y IN [x IN [1, 2, 3] WHERE x > 1] | y * 2] AS l,"
    " reduce(s = 0, w IN [x IN [1, 2] | x + 1] | s + w) AS s",
    "items of a list by number": "MATCH (c:Concept) WITH collect(c.text) AS l"
    " RETURN [i IN range(0, size(l) - 1) | l[i]][..1] AS t",
    "items that differ": "MATCH (c:Concept {text: 'dog'})-->(k) WITH c, collect(k) AS ks"
    " RETURN [k IN ks WHERE k <> c | k.text] AS t",
    "items above a limit": "MATCH ()-[r:IsA]->() WITH collect(r) AS rs, avg(r.weight) AS mean"
    " RETURN size([r IN rs WHERE r.weight > mean]) AS n",
    "sum of weights": "MATCH ()-[r:IsA]->() WITH collect(r) AS rs RETURN reduce(s = 0.0, r IN rs | s + r.weight) AS s",
    "scaled items": "MATCH ()-[r:IsA]->() WITH collect(r.weight) AS ws, 2 AS f RETURN [w IN ws | w * f] AS l",
    "words of nodes of a path": "MATCH p = (:Concept {text: 'puppy'})-[:IsA*1..2]->() WITH p, ['dog', 'pet'] AS l"
    " RETURN all(n IN nodes(p) WHERE n.text IN l OR n.text = 'puppy') AS b",
    "items among words": "MATCH (c:Concept) WITH collect(c.text) AS l"
    " RETURN [t IN l WHERE t IN ['dog', 'pet'] AND NOT t STARTS WITH 'p'] AS t",
    "nodes of each path that begin well": "MATCH p = (:Concept)-[:IsA*1..2]->() WITH collect(p) AS ps"
    " RETURN [p IN ps WHERE any(n IN nodes(p) WHERE n.text = 'dog') | [n IN nodes(p) | n.text]] AS words",
    "reduce to text": "MATCH p = (:Concept {text: 'puppy'})-[:IsA*1..2]->() RETURN reduce(s = '', n IN nodes(p) |"
    " CASE WHEN s = '' THEN n.text ELSE s + ' > ' + n.text END) AS t ORDER BY t",
    "reduce to a list and a map": "RETURN reduce(l = [], x IN [1, 2] | l + [x]) AS l,"
    " reduce(m = {sum: 0, n: 0}, x IN [1, 2] | {sum: m.sum + x, n: m.n + 1}) AS m",
    "reduce to the most": "RETURN reduce(m = 0, x IN [1, 3, 2] | CASE WHEN x > m THEN x ELSE m END) AS m",
    "not a number": "RETURN 0.0 / 0.0 AS nan, 1.0 / 0.0 AS infinite",
    "regular expression parameter": "MATCH (c:Concept) WHERE c.text =~ $pattern RETURN c.text AS t ORDER BY t",
}

ONLY_EMBEDDED: dict[str, str] = {
    "list functions": "RETURN list_transform([1, 2], x -> x + 1) AS l, list_filter([1, 2], x -> x > 1) AS f",
    "tables": "CALL show_tables() RETURN name, type ORDER BY name",
    "table info": "CALL table_info('Concept') RETURN name ORDER BY name",
    "shortest": "MATCH p = (:Concept {text: 'puppy'})-[* SHORTEST 1..4]-(:Concept {text: 'bone'}) RETURN length(p) AS n",
    "all shortest": "MATCH p = (:Concept {text: 'puppy'})-[* ALL SHORTEST 1..4]-(:Concept {text: 'bone'}) RETURN length(p) AS n",
    "cheapest": "MATCH p = (:Concept {text: 'puppy'})-[r* WSHORTEST(weight) 1..4]-(:Concept {text: 'bone'}) RETURN cost(r) AS c",
    "recursive filter": "MATCH p = (:Concept {text: 'puppy'})-[:IsA*1..3 (r, n | WHERE r.weight > 0)]->(k:Concept)"
    " RETURN length(p) AS n ORDER BY n",
    "cast": "RETURN cast('1' AS INT64) AS a, typeof(1.5) AS b",
    "properties of nodes": "MATCH p = (:Concept {text: 'puppy'})-[:IsA]->(:Concept) RETURN properties(nodes(p), 'text') AS t",
    "internal ids": "MATCH (c:Concept) RETURN count(DISTINCT id(c)) > 0 AS some",
    "temporal": "RETURN interval('1 day') AS i, timestamp('2020-01-01 00:00:00') AS t, 1.0 / 0.0 AS infinite",
}

ROWS = [
    Assertion("/c/en/dog", "IsA", "/c/en/animal", 4.0, "conceptnet", "/d/test", "cc:zero/1.0"),
    Assertion("/c/en/dog", "IsA", "/c/en/pet", 2.0, "conceptnet", "/d/test", "cc:zero/1.0", head_sense="n"),
    Assertion("/c/en/puppy", "IsA", "/c/en/dog", 3.0, "conceptnet", "/d/test", "cc:zero/1.0"),
    Assertion("/c/en/dog", "Desires", "/c/en/bone", 2.5, "conceptnet", "/d/test", "cc:zero/1.0"),
    Assertion("/c/en/dog", "CapableOf", "/c/en/bark", 1.0, "conceptnet", "/d/test"),
    Assertion("/c/en/noise", "CausesDesire", "/c/en/bark", 1.0, "conceptnet", "/d/test"),
    Assertion("/e/PersonX_adopts_a_dog", "xWant", "/e/to_walk_it", 1.0, "atomic2020", "test"),
    Assertion("/e/PersonX_adopts_a_dog", "xWant", "/e/to_feed_it", 0.5, "comet:test", "test", rank=1, score=-0.25),
]
"""What the graph of these tests holds."""
