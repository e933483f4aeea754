// The table of concepts.
CREATE NODE TABLE Concept(uri STRING PRIMARY KEY, text STRING, language STRING)
