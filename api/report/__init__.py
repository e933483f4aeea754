"""Pages of explained scores: one self-contained HTML file each, that needs no network."""
