// No two assertions of a relation have one identity.
CREATE CONSTRAINT `NAME` IF NOT EXISTS FOR ()-[r:`RELATION`]-() REQUIRE r.id IS UNIQUE
