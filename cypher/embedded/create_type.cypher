// Neo4j's function for the name of an assertion's relation.
// The name is kept as a property because table names ignore case: HasSubevent and HasSubEvent share a table.
CREATE MACRO type(r) AS r.relation
