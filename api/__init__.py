"""The ways in for people and programs: the command line, which composes what graph, loaders and reasoning offer."""
