// The transaction that was begun with a tag, while the server has not ended it; on the server that is asked, not on other members of a cluster.
SHOW TRANSACTIONS YIELD transactionId, metaData
WHERE metaData.tacit = $tag
RETURN transactionId
