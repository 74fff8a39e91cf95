// Replaced by the first file of PostgreSQL.
