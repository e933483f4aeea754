"""What several benchmarks share; the programs beside this folder import it."""
