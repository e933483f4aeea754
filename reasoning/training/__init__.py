"""Training of tacit's models: the shared loop, one module per model, and the model cards."""
