// The transaction with a tag, until the server has ended it; on this server only, not on other members of a cluster.
SHOW TRANSACTIONS YIELD transactionId, metaData
WHERE metaData.tacit = $tag
RETURN transactionId
