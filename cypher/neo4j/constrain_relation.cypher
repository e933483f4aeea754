// The constraint that identities are unique among the assertions of a relation.
CREATE CONSTRAINT `NAME` IF NOT EXISTS FOR ()-[r:`RELATION`]-() REQUIRE r.id IS UNIQUE
