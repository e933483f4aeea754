"""How the shipped language pipeline is made: the treebank's reader, the lemma tables, the training loop and the model card."""
