// The table of a relation's assertions.
CREATE REL TABLE `RELATION`(FROM Concept TO Concept, FROM Event TO Event,
    relation STRING, weight DOUBLE, source STRING, dataset STRING, license STRING, contributors STRING,
    head_sense STRING, tail_sense STRING, rank INT64, score DOUBLE, id INT64)
