// Replaced by the first file of Store.
