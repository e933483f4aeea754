// What hinders the actions that people take to reach a goal?
// Needs the links of tacit link.
// $goal: the goal's text, e.g. pass exam
MATCH (goal:Concept {uri: '/c/en/' + replace($goal, ' ', '_')})<-[:MotivatedByGoal]-(action:Concept)
MATCH (action)<-[:Mentions]-(e:Event)-[:HinderedBy]->(obstacle:Event)
RETURN action.text AS act, e.text AS happening, obstacle.text AS hindrance
ORDER BY act, happening, hindrance
