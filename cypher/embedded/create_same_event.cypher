// The table of links between events of the same meaning.
CREATE REL TABLE SameEvent(FROM Event TO Event, relation STRING, id INT64)
