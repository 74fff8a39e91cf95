/// In which order the servers of the list are tried: first the one that worked last, for one that does not answer would cost each connection
/// its whole time. Each failure puts another one first, so that all have their turn.
package struct ServerOrder: Sendable {
    private var lastWorking: DatabaseOptions.Endpoint?
    private var failureCount = 0

    package init() {}

    mutating func worked(_ endpoint: DatabaseOptions.Endpoint) {
        lastWorking = endpoint
        failureCount = 0
    }

    mutating func failed() { failureCount += 1 }

    /// Whether no server has worked since this one did.
    func prefers(_ endpoint: DatabaseOptions.Endpoint) -> Bool { lastWorking == endpoint }

    /// `endpoints`: the list as it resolves now; a server that is no longer in it is not missed.
    func arrange(_ endpoints: [DatabaseOptions.Endpoint]) -> [DatabaseOptions.Endpoint] {
        guard !endpoints.isEmpty else { return [] }
        let start = endpoints.firstIndex { candidate in lastWorking.map { candidate.leads(to: $0) } ?? false } ?? 0
        let first = (start + failureCount) % endpoints.count
        return Array(endpoints[first...] + endpoints[..<first])
    }
}

extension DatabaseOptions.Endpoint {
    /// Whether this entry of the list is the place a connection came to, whose address and port are always told.
    fileprivate func leads(to place: DatabaseOptions.Endpoint) -> Bool {
        guard port == place.port || port.isEmpty else { return false }
        return isUnixSocket && address.isEmpty ? host == place.host : address == place.address
    }
}
