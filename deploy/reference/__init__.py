"""Reference pages of the programs, from the programs' own command lines: manual pages, and docs/reference."""
