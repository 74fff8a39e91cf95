// Replaced by the first file of APNsSimulator.
