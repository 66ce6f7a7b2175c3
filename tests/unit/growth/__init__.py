"""The growth of the cost of reading with the size of the input: every regular expression of the tree, and every reader
of foreign input."""
