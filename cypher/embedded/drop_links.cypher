// Remove a table of links.
DROP TABLE `RELATION`
