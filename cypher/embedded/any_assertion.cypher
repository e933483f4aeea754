// One row when a table has an assertion between nodes of a label.
MATCH (:`LABEL`)-[r:`RELATION`]->(:`LABEL`) RETURN r.id AS id LIMIT 1
