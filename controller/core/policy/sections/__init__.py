"""One file per section of a policy: `read` makes the model of what the schema allowed, `errors` (and `warnings`) say
what is wrong with it that a schema cannot say and that needs no region to see."""
