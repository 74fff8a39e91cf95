// Replaced by the first file of Security.
