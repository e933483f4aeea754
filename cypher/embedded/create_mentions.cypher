// The table of links from events to the concepts that they mention.
// The weight stays null: cheapest paths over all relationships need the property in every table.
CREATE REL TABLE Mentions(FROM Event TO Concept, relation STRING, role STRING, position INT64, id INT64, weight DOUBLE)
