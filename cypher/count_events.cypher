// The number of events.
MATCH (e:Event) RETURN count(e) AS events
