"""One file per section of a policy: `read` makes the model of data that the schema allowed; `errors` (and `warnings`)
yield the faults that a schema cannot express and that can be found without a region."""
