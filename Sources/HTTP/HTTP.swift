// Replaced by the first file of HTTP.
