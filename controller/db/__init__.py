"""The database: one file per noun, with models and queries. `engine` alone handles the differences between SQLite and
PostgreSQL; all other SQL is understood by both. The history of the tables is in `migrations/`."""
