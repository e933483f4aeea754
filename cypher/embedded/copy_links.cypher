// Append a table of links from events to nodes of one label.
COPY `RELATION` FROM $rows (from = 'Event', to = 'LABEL')
