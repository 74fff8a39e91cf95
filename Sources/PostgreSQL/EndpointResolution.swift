import Networking

extension DatabaseOptions {
    /// The servers with numeric addresses, so that libpq has nothing to resolve; names stay beside them for the verification of certificates.
    ///
    /// `rotation`: how many of them to move to the end.
    func resolvedEndpoints(rotation: Int) async throws(DatabaseError) -> [Endpoint] {
        let given: [Endpoint]
        do { given = try endpoints() } catch { throw .unavailable(reason: "the database URL \(error)") }
        return given.rotated(by: rotation)
    }
}

extension [DatabaseOptions.Endpoint] {
    fileprivate func rotated(by count: Int) -> Self {
        guard !isEmpty else { return self }
        let split = count % self.count
        return Array(self[split...] + self[..<split])
    }
}
