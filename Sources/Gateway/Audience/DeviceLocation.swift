/// A place on Earth, which is taken for a sphere: distances are up to 0.5 % off.
package struct DeviceLocation: Hashable, Sendable {
    /// The mean radius. Source: IUGG, GRS 80.
    package static let earthRadiusMetres = 6_371_008.8
    /// Limits of both coordinates, in degrees.
    package static let latitudeLimit = 90.0
    package static let longitudeLimit = 180.0

    /// Degrees, north is positive.
    package let latitude: Double
    /// Degrees, east is positive; -180 and 180 are the same line.
    package let longitude: Double

    /// Takes coordinates within their limits.
    package init(latitude: Double, longitude: Double) {
        precondition(abs(latitude) <= Self.latitudeLimit, "a latitude beyond a pole")
        precondition(abs(longitude) <= Self.longitudeLimit, "a longitude beyond the date line")
        self.latitude = latitude
        self.longitude = longitude
    }
}
