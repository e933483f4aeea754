// Wait until the indexes behind the constraints can be used.
CALL db.awaitIndexes(300)
