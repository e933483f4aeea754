// Append a table of nodes.
COPY `LABEL` FROM $rows
