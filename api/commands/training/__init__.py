"""The commands under ``tacit train``, one module each."""
