"""The parts that operators install: units, container files, and the packages that are made of them."""
