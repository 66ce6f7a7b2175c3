"""The database: one file per noun, models and queries. `engine` is the one door to what differs between SQLite and
PostgreSQL; everything else is SQL that both understand. History is in `migrations/`."""
