"""Creation of data sets of questions about dialogues, as CICERO was made (Ghosal et al., ACL 2022)."""
