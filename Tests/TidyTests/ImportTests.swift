import Testing

@Suite("Imports") struct ImportTests {
    /// Which targets each target may import; an arrow that is not here is a mistake or a new decision.
    static let allowed: [String: Set<String>] = [
        "Calendar": [],
        "Security": ["COpenSSL", "Glibc", "Synchronization"],
        "Compression": ["CZlib"],
        "Networking": ["CLinux", "Glibc", "Security", "Synchronization"],
        "HTTP": ["CNGHTTP2", "Calendar", "Glibc", "Networking", "Security", "Synchronization"],
        "PostgreSQL": ["CLinux", "CPostgreSQL", "Glibc", "Networking", "Synchronization"],
        "JSON": [],
        "Observability": ["Calendar", "Glibc", "Synchronization"],
        "Configuration": ["Glibc", "Observability", "Security"],
        "Gateway": ["JSON", "Observability", "Synchronization"],
        "API": [
            "Calendar", "Compression", "Gateway", "HTTP", "JSON", "Networking", "Observability", "Security", "Synchronization",
        ],
        "Store": ["Gateway", "JSON", "Networking", "Observability", "PostgreSQL", "Security", "Synchronization"],
        "APNs": ["Gateway", "Glibc", "HTTP", "JSON", "Networking", "Observability", "Security", "Synchronization"],
        "FCM": ["Gateway", "Glibc", "HTTP", "JSON", "Networking", "Observability", "Security", "Synchronization"],
        "Journal": ["Gateway", "Glibc", "Observability", "Synchronization"],
        "APNsSimulator": ["Glibc", "HTTP", "JSON", "Networking", "Security", "Synchronization"],
        "openpushd": [
            "API", "APNs", "Configuration", "FCM", "Gateway", "Glibc", "HTTP", "Journal", "Networking", "Observability",
            "PostgreSQL",
            "Security", "Store", "Synchronization",
        ],
        "openpushctl": [
            "APNs", "Calendar", "Configuration", "FCM", "Gateway", "Glibc", "HTTP", "JSON", "Networking", "Observability",
            "PostgreSQL", "Security", "Store", "Synchronization",
        ],
        "benchmark": [
            "APNs", "Configuration", "Gateway", "Glibc", "JSON", "Networking", "Observability", "PostgreSQL", "Security", "Store",
            "Synchronization",
        ],
        "apns-simulator": ["APNsSimulator", "Glibc", "Networking", "Security", "Synchronization"],
    ]

    @Test("point down only", arguments: SourceTree.sources)
    func pointDown(file: SourceFile) throws {
        let allowed = try #require(Self.allowed[file.target], "\(file.target) has no row in the table")
        let surplus = file.imports.subtracting(allowed).sorted()
        #expect(surplus.isEmpty, "\(file.path) imports \(surplus)")
    }

    @Test("find the sources")
    func findSources() {
        #expect(Set(SourceTree.sources.map(\.target)).isSubset(of: Set(Self.allowed.keys)))
        #expect(SourceTree.sources.count > 50)
    }
}
