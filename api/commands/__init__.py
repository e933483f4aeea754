"""The commands of the program ``tacit``, one module each, and the table that lists them."""
