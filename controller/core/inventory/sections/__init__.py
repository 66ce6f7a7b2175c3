"""The meaning of each section of an inventory. `read` returns the fields of one object in the form in which objects are
compared, `errors` yields what is wrong with the objects of a section."""
