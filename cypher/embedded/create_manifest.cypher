// The table that holds the one manifest node.
CREATE NODE TABLE Manifest(key STRING PRIMARY KEY, loads STRING, assertions INT64, checksum STRING)
