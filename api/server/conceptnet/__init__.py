"""The public ConceptNet 5 web API, answered from an index: its URLs, its JSON-LD, its paging and its errors.

``tacit serve --conceptnet-api`` adds these routes to the service. docs/conceptnet-api.md says how they differ from the public
API, which is described at https://github.com/commonsense/conceptnet5/wiki/API.
"""
