// Replaced by the first file of API.
