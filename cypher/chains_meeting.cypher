// Every pair of assertions from a source and from a target to a middle concept.
MATCH (a:Concept)-[r]->(m:Concept)<-[q]-(b:Concept)
WHERE a.uri IN $sources AND b.uri IN $targets AND a.uri <> m.uri AND m.uri <> b.uri AND a.uri <> b.uri
RETURN a.uri AS source, m.uri AS middle, b.uri AS target,
       type(r) AS first_relation, r.weight AS first_weight, r.source AS first_source, r.dataset AS first_dataset, r.license AS first_license,
       r.contributors AS first_contributors, r.head_sense AS first_head_sense, r.tail_sense AS first_tail_sense, r.rank AS first_rank, r.score AS first_score,
       type(q) AS second_relation, q.weight AS second_weight, q.source AS second_source, q.dataset AS second_dataset, q.license AS second_license,
       q.contributors AS second_contributors, q.head_sense AS second_head_sense, q.tail_sense AS second_tail_sense, q.rank AS second_rank, q.score AS second_score
