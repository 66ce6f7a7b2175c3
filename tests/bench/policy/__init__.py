"""`make bench-policy`: how long `weft policy plan` takes in a large region."""
