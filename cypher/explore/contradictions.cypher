// Where does the graph contradict itself: something desired and not desired, able and not able, so and not so?
MATCH (a:Concept)-[p:Desires|CapableOf|HasProperty|IsA|HasA]->(b:Concept),
      (a)-[n:NotDesires|NotCapableOf|NotHasProperty|NotIsA|NotHasA]->(b)
WHERE type(n) = 'Not' + type(p)
RETURN a.text AS head, type(p) AS relation, b.text AS tail, max(p.weight) AS weight_for, max(n.weight) AS weight_against
ORDER BY weight_for DESC, weight_against DESC, head, relation, tail
