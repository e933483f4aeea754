// The table of links between events of the same meaning.
// The weight stays null: cheapest paths over all relationships need the property in every table.
CREATE REL TABLE SameEvent(FROM Event TO Event, relation STRING, id INT64, weight DOUBLE)
