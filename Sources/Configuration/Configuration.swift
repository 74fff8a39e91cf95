// Replaced by the first file of Configuration.
