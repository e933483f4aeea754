// The constraint that there is one manifest.
CREATE CONSTRAINT tacit_manifest IF NOT EXISTS FOR (m:Manifest) REQUIRE m.key IS UNIQUE
