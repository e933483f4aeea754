// The table of events.
CREATE NODE TABLE Event(uri STRING PRIMARY KEY, text STRING)
