"""How the cost of reading grows with what is read: every expression of the tree, and every reader of foreign input."""
