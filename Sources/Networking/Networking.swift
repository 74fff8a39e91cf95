// Replaced by the first file of Networking.
