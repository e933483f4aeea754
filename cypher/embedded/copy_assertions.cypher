// Append assertions of one relation between nodes of one label from a file that is open.
COPY `RELATION` FROM '/dev/fd/0' (file_format = 'parquet', from = 'LABEL', to = 'LABEL')
