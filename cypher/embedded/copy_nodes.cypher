// Append nodes from a file that is open.
COPY `LABEL` FROM '/dev/fd/0' (file_format = 'parquet')
