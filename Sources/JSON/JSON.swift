// Replaced by the first file of JSON.
