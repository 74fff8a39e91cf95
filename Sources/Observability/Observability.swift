// Replaced by the first file of Observability.
