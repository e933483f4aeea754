// Append a table of assertions of one relation between nodes of one label.
COPY `RELATION` FROM $rows (from = 'LABEL', to = 'LABEL')
