"""Queries as a textbook on Cypher has them, over the graph of the query tests: which engine answers which."""

from __future__ import annotations

TEXTBOOK: dict[str, str] = {
    "all nodes": "MATCH (n:Concept) RETURN n.text AS t ORDER BY t",
    "a node by property": "MATCH (n:Concept {text: 'dog'}) RETURN n.uri AS u",
    "a node by condition": "MATCH (n:Concept) WHERE n.text = 'dog' RETURN n.text AS t",
    "label as a condition": "MATCH (n) WHERE n:Event RETURN n.text AS t ORDER BY t",
    "no label": "MATCH (n) WHERE NOT n:Event AND n.text = 'dog' RETURN n.text AS t",
    "labels": "MATCH (n {text: 'dog'}) RETURN labels(n) AS l",
    "label in labels": "MATCH (n) WHERE 'Event' IN labels(n) RETURN count(n) AS c",
    "neighbours": "MATCH (:Concept {text: 'dog'})-->(m) RETURN m.text AS t ORDER BY t",
    "neighbours by type": "MATCH (:Concept {text: 'dog'})-[:IsA]->(m) RETURN m.text AS t ORDER BY t",
    "either direction": "MATCH (:Concept {text: 'dog'})-[:IsA]-(m) RETURN m.text AS t ORDER BY t",
    "two types": "MATCH (:Concept {text: 'dog'})-[r:IsA|Desires]->(m) RETURN type(r) AS r, m.text AS t ORDER BY t",
    "variable length": "MATCH (:Concept {text: 'puppy'})-[:IsA*1..2]->(m) RETURN m.text AS t ORDER BY t",
    "path and its length": "MATCH p = (:Concept {text: 'puppy'})-[:IsA*1..2]->(m) RETURN m.text AS t, length(p) AS n ORDER BY t",
    "nodes of a path": "MATCH p = (:Concept {text: 'puppy'})-[:IsA*2..2]->(:Concept {text: 'pet'})"
    " RETURN [n IN nodes(p) | n.text] AS l",
    "relationships of a path": "MATCH p = (:Concept {text: 'puppy'})-[:IsA*2..2]->(:Concept {text: 'pet'})"
    " RETURN [r IN relationships(p) | r.weight] AS l",
    "shortest path": "MATCH (a:Concept {text: 'puppy'}), (b:Concept {text: 'bone'})"
    " MATCH p = shortestPath((a)-[*..5]-(b)) RETURN length(p) AS n, [x IN nodes(p) | x.text] AS l",
    "shortest path by type": "MATCH p = shortestPath((:Concept {text: 'puppy'})-[:IsA*..4]->(:Concept {text: 'animal'}))"
    " RETURN length(p) AS n",
    "all shortest paths": "MATCH p = allShortestPaths((:Concept {text: 'noise'})-[*]-(:Concept {text: 'dog'}))"
    " RETURN length(p) AS n",
    "shortest path that is not there": "MATCH p = shortestPath((:Concept {text: 'dog'})-[:IsA*..3]->(:Concept {text: 'bone'}))"
    " RETURN length(p) AS n",
    "shortest path under a condition": "MATCH p = shortestPath((a:Concept {text: 'puppy'})-[*..5]-(b:Concept {text: 'bone'}))"
    " WHERE none(r IN relationships(p) WHERE r.weight > 2.5) AND a <> b RETURN length(p) AS n",
    "count": "MATCH (n:Concept) RETURN count(n) AS c",
    "count by type": "MATCH ()-[r]->() RETURN type(r) AS t, count(*) AS c ORDER BY c DESC, t",
    "count pattern": "MATCH (n:Concept) RETURN n.text AS t, COUNT { (n)-->() } AS c ORDER BY c DESC, t",
    "count matching": "MATCH (n:Concept {text: 'dog'}) RETURN COUNT { MATCH (n)-[:IsA]->(m) WHERE m.text <> 'pet' } AS c",
    "exists pattern": "MATCH (n:Concept) WHERE EXISTS { (n)-[:IsA]->() } RETURN n.text AS t ORDER BY t",
    "exists with where": "MATCH (n:Concept) WHERE EXISTS { (n)-[r:IsA]->(m) WHERE r.weight > 2.5 } RETURN n.text AS t ORDER BY t",
    "pattern as a condition": "MATCH (n:Concept) WHERE (n)-[:IsA]->() RETURN n.text AS t ORDER BY t",
    "no such pattern": "MATCH (n:Concept) WHERE NOT (n)--() RETURN count(n) AS c",
    "collect": "MATCH (n:Concept)-[:IsA]->(m) WITH n, m ORDER BY m.text RETURN n.text AS t, collect(m.text) AS l ORDER BY t",
    "collect distinct": "MATCH ()-[r:IsA]->() RETURN collect(DISTINCT r.dataset) AS l",
    "first of a list": "MATCH (n:Concept) WITH n ORDER BY n.text"
    " RETURN collect(n.text)[0] AS first, head(collect(n.text)) AS same",
    "last of a list": "MATCH (n:Concept) WITH n ORDER BY n.text"
    " RETURN collect(n.text)[-1] AS last, last(collect(n.text)) AS same",
    "slice": "MATCH (n:Concept) WITH n ORDER BY n.text WITH collect(n.text) AS l"
    " RETURN l[0..2] AS a, l[1..3] AS b, l[2..] AS c, l[..1] AS d",
    "tail": "RETURN tail([1, 2, 3]) AS l, reverse([1, 2, 3]) AS r",
    "index by variable": "UNWIND range(0, 2) AS i RETURN [10, 20, 30][i] AS x ORDER BY i",
    "list comprehension": "RETURN [x IN range(1, 5) WHERE x % 2 = 1 | x * x] AS l",
    "list filter": "MATCH (n:Concept) WITH collect(n.text) AS l RETURN size([t IN l WHERE t STARTS WITH 'p']) AS c",
    "nested comprehension": "RETURN [x IN [1, 2] | [y IN [10, 20] | x + y]] AS l",
    "comprehension with an outer name": "WITH 2 AS f RETURN [x IN [1, 2] | x * f] AS l",
    "any and all": "MATCH p = (:Concept {text: 'puppy'})-[:IsA*2..2]->(m) WHERE any(n IN nodes(p) WHERE n.text = 'dog')"
    " AND all(r IN relationships(p) WHERE r.weight > 1) RETURN m.text AS t ORDER BY t",
    "with and having": "MATCH (n:Concept)-[:IsA]->() WITH n, count(*) AS c WHERE c > 1 RETURN n.text AS t, c",
    "top by weight": "MATCH (a)-[r:IsA]->(b) RETURN a.text AS a, b.text AS b ORDER BY r.weight DESC LIMIT 1",
    "skip and limit": "MATCH (n:Concept) RETURN n.text AS t ORDER BY t SKIP 1 LIMIT 2",
    "offset": "MATCH (n:Concept) RETURN n.text AS t ORDER BY t OFFSET 2 LIMIT 1",
    "average": "MATCH ()-[r:IsA]->() RETURN avg(r.weight) AS m, min(r.weight) AS a, max(r.weight) AS b, sum(r.weight) AS s",
    "optional": "MATCH (n:Concept) OPTIONAL MATCH (n)-[:Desires]->(m) RETURN n.text AS t, m.text AS want ORDER BY t",
    "coalesce": "MATCH (n:Concept) OPTIONAL MATCH (n)-[:Desires]->(m)"
    " RETURN n.text AS t, coalesce(m.text, 'nothing') AS w ORDER BY t",
    "case": "MATCH ()-[r]->() RETURN CASE WHEN r.weight >= 2 THEN 'strong' ELSE 'weak' END AS k, count(*) AS c ORDER BY k",
    "string functions": "MATCH (n:Concept {text: 'dog'})"
    " RETURN toUpper(n.text) AS u, substring(n.text, 1) AS s, substring(n.text, 0, 2) AS d,"
    " reverse(n.text) AS r, split('a b', ' ') AS w",
    "contains": "MATCH (n:Concept) WHERE n.text CONTAINS 'o' AND n.text ENDS WITH 'g' RETURN n.text AS t",
    "regular expression": "MATCH (n:Concept) WHERE n.text =~ 'p.*y' RETURN n.text AS t",
    "in a list": "MATCH (n:Concept) WHERE n.text IN ['dog', 'bone'] RETURN n.text AS t ORDER BY t",
    "not equal": "MATCH (a:Concept)-[:IsA]->(b)<-[:IsA]-(c:Concept) WHERE a <> c RETURN a.text AS a, b.text AS b, c.text AS c",
    "is null": "MATCH (n:Concept) OPTIONAL MATCH (n)-[r:Desires]->() WITH n, r WHERE r IS NULL RETURN count(n) AS c",
    "unwind": "UNWIND ['dog', 'bone'] AS w MATCH (n:Concept {text: w}) RETURN n.uri AS u ORDER BY u",
    "union": "MATCH (n:Concept {text: 'dog'}) RETURN n.text AS t UNION MATCH (e:Event) WHERE e.text CONTAINS 'walk'"
    " RETURN e.text AS t",
    "map projection": "MATCH (n:Concept {text: 'dog'}) RETURN n {.uri, .text, kind: 'concept'} AS m",
    "ends of a relationship": "MATCH ()-[r:Desires]->() RETURN startNode(r).text AS a, endNode(r).text AS b",
    "rounding": "RETURN round(2.4) AS a, ceil(1.2) AS b, abs(-3) AS c, isEmpty([]) AS d",
    "map": "WITH {name: 'x', n: 2} AS m RETURN m.name AS a, m['n'] AS b",
    "reduce": "MATCH p = (:Concept {text: 'puppy'})-[:IsA*2..2]->(:Concept {text: 'pet'})"
    " RETURN reduce(s = 0.0, r IN relationships(p) | s + r.weight) AS s",
}

NOT_EMBEDDED = {
    "collect": "ORDER BY in a WITH needs a LIMIT",
    "first of a list": "ORDER BY in a WITH needs a LIMIT",
    "last of a list": "ORDER BY in a WITH needs a LIMIT",
    "slice": "ORDER BY in a WITH needs a LIMIT",
    "nested comprehension": "cannot use the outer one's variable",
}
"""Those that the embedded engine does not answer, and what it says."""

EQUAL = {
    "slices": "WITH [10, 20, 30, 40] AS l RETURN l[0..2] AS a, l[1..3] AS b, l[2..] AS c, l[..1] AS d, l[0] AS e, l[-1] AS f",
    "ends of a list": "WITH ['a', 'b', 'c'] AS l RETURN head(l) AS a, last(l) AS b, tail(l) AS c, size(l) AS d",
    "negative positions": "UNWIND [-1, -2, 0, 1] AS i RETURN [10, 20, 30][i] AS x",
    "substrings": "UNWIND [0, 1, 2] AS i RETURN substring('hello', i) AS a, substring('hello', i, 2) AS b",
    "comprehension over what was filtered": "RETURN [y IN [x IN [1, 2, 3] WHERE x > 1] | y * 2] AS l",
    "ends of an empty list": "MATCH (n:Concept {text: 'dog'}) OPTIONAL MATCH (n)-[:MadeOf]->(m) WITH collect(m.text) AS l"
    " RETURN head(l) AS a, last(l) AS b, size(l) AS c",
    "no relationship twice": "MATCH (a:Concept {text: 'dog'})-[*1..3]-(b) RETURN count(*) AS c",
    "exactly two hops": "MATCH (a:Concept {text: 'dog'})-[*2]-(b) RETURN b.text AS t",
    "no hop or one": "MATCH (:Concept {text: 'puppy'})-[:IsA*0..1]->(m) RETURN m.text AS t ORDER BY t",
    "halves round up": "RETURN round(2.5) AS a, round(-2.5) AS b, round(2.345, 2) AS c",
    "first three together": "MATCH (n:Concept) WITH n ORDER BY n.text LIMIT 3"
    " RETURN count(*) AS c, min(n.text) AS a, max(n.text) AS z",
    "last of the first three": "MATCH (n:Concept) WITH n.text AS t ORDER BY t LIMIT 3 WHERE t <> 'bark' RETURN max(t) AS z",
    "three of five": "MATCH (n:Concept) WITH n.text AS t ORDER BY t LIMIT 5 WITH * ORDER BY t DESC SKIP 1 LIMIT 3"
    " WITH max(t) AS z, count(*) AS c RETURN z, c",
    "greatest of the smallest of each part": "UNWIND [3, 1, 2] AS x WITH x ORDER BY x LIMIT 2 RETURN max(x) AS m"
    " UNION ALL UNWIND [6, 5, 4] AS x WITH * ORDER BY x LIMIT 2 RETURN max(x) AS m",
    "sums of integers": "UNWIND [9007199254740993, 2] AS x RETURN sum(x) AS s, sum(DISTINCT x) AS d ORDER BY sum(x)",
    "sum over no rows": "MATCH (n:Concept {text: 'nothing'})-[r]->() RETURN sum(r.weight) AS s, count(*) AS c",
    "sums by type": "MATCH ()-[r]->() RETURN type(r) AS t, sum(r.rank) AS s, sum(r.weight) AS w ORDER BY sum(r.weight) DESC, t",
    "condition on a sum": "MATCH ()-[r]->() WITH type(r) AS t, sum(r.weight) AS w WHERE w > 3 RETURN t, w ORDER BY t",
    "labels of a missing node": "MATCH (n:Concept {text: 'dog'}) OPTIONAL MATCH (e:Event {uri: 'nowhere'})"
    " RETURN labels(n) AS l, labels(e) AS m, labels(n)[0] AS f, labels(e)[0] AS g, labels(e) IS NULL AS n",
    "a value of a written map": "RETURN {a: {b: 2}}['a']['b'] AS x, {a: 1}['a'] AS y",
    "natural logarithm": "RETURN log(10) AS a, log10(100) AS b",
    "empty parts": "RETURN split('a,b,,c', ',') AS a, split('', 'x') AS b, split('a, b', ', ') AS c",
    "a null makes a sum null": "RETURN reduce(s = 0, x IN [1, null] | s + x) AS a, reduce(s = 0.5, x IN [0.1, 0.2] | s + x) AS b",
    "quotes in a label": "MATCH (n) WHERE NOT n:`it's` RETURN count(*) AS c",
    "begin of a relationship without direction": "MATCH (a:Concept)-[r:IsA]-(b:Concept)"
    " RETURN a.text AS one, b.text AS other, startNode(r).text AS s, endNode(r).text AS e ORDER BY one, other",
    "direction of a relationship": "MATCH (a:Concept {text: 'dog'})-[r]-(b) RETURN b.text AS t, type(r) AS k,"
    " startNode(r) = a AS f ORDER BY t, k, f",
    "begin of a relationship that may be missing": "MATCH (a:Concept), (b:Concept {text: 'bone'})"
    " OPTIONAL MATCH (a)-[r:Desires]-(b) RETURN a.text AS t, startNode(r).text AS s ORDER BY t",
    "words inside strings stay": "RETURN 'shortestPath((a)-[*]-(b)) [x IN l | x][0] labels(n)' AS s",
    "words inside comments stay": "RETURN 1 AS x // head(l)[0]",
    "keyword variables": "MATCH (head:Concept {text: 'dog'}) WITH head AS tail RETURN tail.text AS last",
    "a list of lists": "RETURN [[1, 2], [3]][0][1] AS x",
    "exists twice": "MATCH (n:Concept) WHERE EXISTS { (n)-[:IsA]->() } AND NOT EXISTS { (n)-[:Desires]->() } RETURN n.text AS t",
    "label of both kinds": "MATCH (n) WHERE n:Concept OR n:Event RETURN count(*) AS c",
    "reduce by a property": "MATCH p = (:Concept {text: 'puppy'})-[:IsA*1..2]->(m)"
    " RETURN m.text AS t, reduce(s = 1.0, r IN relationships(p) | s + r.weight) AS s ORDER BY t",
    "relationships of a pattern are different": "MATCH (a)-[:IsA]->(b)<-[:IsA]-(c) RETURN count(*) AS c",
    "relationships of several patterns are different": "MATCH (a)-[:IsA]->(b), (c)-->(b) WHERE a.text <> 'x' OR true"
    " RETURN count(*) AS c",
    "no relationship twice in a chain of paths": "MATCH (a)-[:IsA]->(b)-[:IsA*0..2]->(c) RETURN count(*) AS c",
    "no relationship twice in subqueries": "MATCH (a) WHERE EXISTS { (a)-[:IsA]->()<-[:IsA]-() } AND (a)-[:IsA]->()<--()"
    " RETURN sum(COUNT { (a)-->()<--() }) AS c",
    "no relationship twice when it is optional": "MATCH (a) OPTIONAL MATCH (a)-[:IsA]->(b)<-[:IsA]-(c)"
    " RETURN count(*) AS c, count(b) AS d",
    "counts that are zero": "MATCH (n:Concept) RETURN min(COUNT { (n)-[:IsA]->() }) AS a, sum(COUNT { (n)-->() }) AS b,"
    " count(*) AS c",
    "the first counts by another order": "MATCH (n:Concept) RETURN n.uri AS u, COUNT { (n)-[:IsA]->() } AS c ORDER BY u LIMIT 5",
    "conditions on a list in a CASE": "UNWIND [1, 2] AS i RETURN CASE WHEN any(x IN [1, 2] WHERE x > 1) THEN i ELSE 0 END AS a",
    "labels in a CASE": "MATCH (n) RETURN CASE WHEN n:Event THEN 'event' ELSE 'concept' END AS k, count(*) AS c ORDER BY k",
    "one row of distinct aggregates": "MATCH (n:Concept) WITH DISTINCT count(*) AS c RETURN c",
    "texts with nulls": "MATCH (a)-[r]->(b) RETURN a.text + r.dataset AS t, 'x' + r.license + '!' AS l ORDER BY t, l",
    "texts of texts with nulls": "MATCH (a)-[r]->(b) RETURN '<' + (a.text + r.dataset) + '>' AS t ORDER BY t",
    "replaced texts with nulls": "MATCH ()-[r]->(b) RETURN replace(b.text, 'o', r.dataset) AS t, substring(r.dataset, 1) AS s"
    " ORDER BY t, s",
    "substrings of letters with accents": "RETURN substring('ä', 1) AS a, substring('äö', 1, 5) AS b, substring('äö', 3, 1) AS c",
    "functions in a comprehension": "MATCH p = (:Concept {text: 'puppy'})-[:IsA*2..2]->(:Concept {text: 'pet'})"
    " RETURN [n IN nodes(p) | substring(n.text, 0, 2)] AS s, [n IN nodes(p) | labels(n)] AS l, {t: head(['a'])} AS m",
    "a comprehension that reads each row": "MATCH (n:Concept) RETURN n.text AS t,"
    " [x IN ['dog', 'pet'] WHERE x <> n.text | x + '!'] AS l, [y IN [x IN ['a'] | x + n.text] | y + '!'] AS m,"
    " reduce(s = 0, x IN [1, 2] | s + x * size(n.text)) AS s ORDER BY t",
    "conditions on a list that read each row": "MATCH (n:Concept) RETURN n.text AS t, "
    " any(x IN ['dog', 'cat'] WHERE x = n.text) AS a, none(x IN ['d', 'p'] WHERE n.text STARTS WITH x) AS b ORDER BY t",
    "conditions on a list with nulls": "WITH [2, null] AS l RETURN any(x IN l WHERE x > 2) AS a, all(x IN l WHERE x > 1) AS b,"
    " none(x IN l WHERE x > 2) AS c, single(x IN l WHERE x > 1) AS d, any(x IN l WHERE x > 1) AS e, all(x IN l WHERE x > 2) AS f",
    "maps of the items of a list": "RETURN [x IN ['a', 'b'] | {k: x, l: toUpper(x)}] AS l",
    "nodes of each row": "MATCH p = (a:Concept)-[:IsA*1..2]->(b) RETURN a.text AS t, b.text AS u,"
    " [n IN nodes(p) WHERE n.text <> b.text | n.uri] AS l ORDER BY t, u",
    "halves of whole numbers": "RETURN floor(7) / 2 AS a, ceil(size('abc')) / 2 AS b",
    "split of nothing": "MATCH ()-[r]->() RETURN split(r.dataset, '/')[0] AS s ORDER BY s",
    "begin of a missing relationship": "MATCH (a:Concept) OPTIONAL MATCH (a)-[r:Desires]->(b)"
    " RETURN a.text AS t, startNode(r).text AS s ORDER BY t",
    "labels as values": "MATCH (a:Concept) OPTIONAL MATCH (a)-[:Desires]->(b) RETURN a.text AS t, b:Concept AS c ORDER BY t",
}
"""Single forms that are rewritten for the embedded engine; equal rows from both."""
