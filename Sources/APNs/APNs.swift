// Replaced by the first file of APNs.
