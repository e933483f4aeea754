// The function that Neo4j has for the name of an assertion's relation.
// The name is kept as a property because tables are named without regard to case: HasSubevent and HasSubEvent share one.
CREATE MACRO type(r) AS r.relation
