// The table of links from events to the concepts that they mention.
CREATE REL TABLE Mentions(FROM Event TO Concept, relation STRING, role STRING, position INT64, id INT64)
