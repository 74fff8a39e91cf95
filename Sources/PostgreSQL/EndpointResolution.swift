import Networking

extension DatabaseOptions {
    /// Most addresses a connection tries, over all servers of the list.
    static let endpointLimit = 32

    /// The servers with numeric addresses, so that libpq has nothing to resolve and nothing blocks; the names stay beside them for the
    /// verification of certificates. A name with several addresses becomes several entries, and one that cannot be resolved is left out
    /// as long as there are others.
    ///
    /// Ends early when the task is cancelled.
    func resolvedEndpoints(in order: ServerOrder) async throws(DatabaseError) -> [Endpoint] {
        let given: [Endpoint]
        do { given = try endpoints() } catch { throw .unavailable(reason: "the database URL \(error)") }
        var resolved: [Endpoint] = []
        var failure: ResolveError?
        for endpoint in given {
            guard endpoint.needsResolving else {
                resolved.append(endpoint)
                continue
            }
            do throws(ResolveError) {
                // libpq takes the port from its own list.
                for address in try await Resolver.resolve(host: endpoint.host, port: 0) {
                    resolved.append(Endpoint(host: endpoint.host, address: address.hostText, port: endpoint.port))
                }
            } catch {
                failure = error
            }
        }
        if resolved.isEmpty, let failure { throw .unavailable(reason: "\(failure)") }
        return order.arrange(Array(resolved.prefix(Self.endpointLimit)))
    }
}
