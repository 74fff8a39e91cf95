// swift-tools-version: 6.3
import PackageDescription

/// Settings of every target: Swift 6 language mode, strict memory safety, warnings are errors.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
]

/// A library target under Sources/.
func library(_ name: String, _ dependencies: [Target.Dependency] = [], resources: [Resource] = []) -> Target {
    .target(name: name, dependencies: dependencies, resources: resources, swiftSettings: strict)
}

/// A program under Sources/.
func program(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
    .executableTarget(name: name, dependencies: dependencies, resources: resources, swiftSettings: strict)
}

/// The tests of one target, under Tests/.
func tests(_ target: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []) -> Target {
    .testTarget(
        name: "\(target)Tests", dependencies: [.byName(name: target)] + dependencies, path: "Tests/\(target)Tests",
        exclude: exclude,
        swiftSettings: strict)
}

let package = Package(
    name: "openpushd",
    products: [
        .executable(name: "openpushd", targets: ["openpushd"]),
        .executable(name: "openpushctl", targets: ["openpushctl"]),
        .executable(name: "apns-simulator", targets: ["apns-simulator"]),
    ],
    targets: [
        // C libraries: a module map and a shim each; only the wrapper of a library imports it.
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CNGHTTP2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),

        // Arithmetic that several layers need.
        library("Calendar"),

        // Wrappers.
        library("Security", ["COpenSSL"]),
        library("Compression", ["CZlib"]),
        library("Networking", ["CLinux", "Security"]),
        library("HTTP", ["CNGHTTP2", "Calendar", "Networking", "Security"]),
        library("PostgreSQL", ["CPostgreSQL", "CLinux", "Networking"]),
        library("JSON"),
        library("Observability", ["Calendar"]),

        // The rules.
        library("Gateway", ["JSON", "Observability"]),

        // Adapters.
        library("API", ["Calendar", "Compression", "Gateway", "HTTP", "JSON", "Observability", "Networking", "Security"]),
        library(
            "Store", ["Gateway", "JSON", "Observability", "PostgreSQL", "Networking", "Security"],
            resources: [.embedInCode("schema.sql")]),
        library("APNs", ["Gateway", "HTTP", "JSON", "Observability", "Networking", "Security"]),
        library("FCM", ["Gateway", "HTTP", "JSON", "Observability", "Networking", "Security"]),
        library("Journal", ["Gateway", "Observability"]),
        library("APNsSimulator", ["HTTP", "JSON", "Networking", "Security"]),
        library("Configuration", ["Observability", "Security"]),

        // Programs.
        program(
            "openpushd",
            [
                "API", "APNs", "Configuration", "FCM", "Gateway", "HTTP", "Journal", "Networking", "Observability", "PostgreSQL",
                "Security", "Store",
            ]),
        program(
            "openpushctl",
            [
                "APNs", "Calendar", "Configuration", "FCM", "Gateway", "HTTP", "JSON", "Networking", "Observability",
                "PostgreSQL", "Security", "Store",
            ]),
        program(
            "benchmark",
            ["APNs", "Configuration", "Gateway", "JSON", "Networking", "Observability", "PostgreSQL", "Security", "Store"],
            resources: [
                .embedInCode("SQL/audience.sql"), .embedInCode("SQL/delivered.sql"), .embedInCode("SQL/devices.sql"),
                .embedInCode("SQL/finished.sql"), .embedInCode("SQL/register.pgbench.sql"), .embedInCode("SQL/statements.sql"),
                .embedInCode("SQL/tap.sql"), .embedInCode("SQL/tapped.sql"), .embedInCode("SQL/tokens.sql"),
            ]),
        program("apns-simulator", ["APNsSimulator", "Networking", "Security"]),

        // Tests.
        .target(
            name: "TestSupport", dependencies: ["HTTP", "JSON", "Networking", "PostgreSQL", "Security"],
            path: "Tests/TestSupport",
            swiftSettings: strict),
        tests("Calendar"),
        tests("Security"),
        tests("Compression"),
        tests("Networking", ["Security", "TestSupport"]),
        tests("HTTP", ["Networking", "Security", "TestSupport"]),
        tests("PostgreSQL", ["Networking", "TestSupport"]),
        tests("JSON"),
        tests("Observability"),
        tests("Gateway", ["JSON", "Networking", "Observability"]),
        tests("API", ["Gateway", "HTTP", "JSON", "Networking", "Observability", "Security", "TestSupport"]),
        tests(
            "Store", ["Gateway", "JSON", "Networking", "Observability", "PostgreSQL", "Security", "TestSupport"],
            exclude: ["Fixtures"]),
        tests("APNs", ["APNsSimulator", "Gateway", "HTTP", "JSON", "Networking", "Security", "TestSupport"]),
        tests("FCM", ["APNsSimulator", "Gateway", "HTTP", "JSON", "Networking", "Observability", "Security", "TestSupport"]),
        tests("Journal", ["Gateway", "Observability"]),
        tests("APNsSimulator", ["HTTP", "JSON", "Networking", "Security", "TestSupport"]),
        tests("Configuration", ["Observability", "Security"]),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "APNsSimulator", "HTTP", "JSON", "Networking", "PostgreSQL", "Security", "TestSupport", "openpushctl",
                "openpushd",
            ],
            path: "Tests/EndToEndTests", exclude: ["Fixtures"], swiftSettings: strict),
        .testTarget(
            name: "BenchmarkTests",
            dependencies: [
                "APNs", "Gateway", "JSON", "Networking", "TestSupport", "apns-simulator", "benchmark", "openpushd",
            ],
            path: "Tests/BenchmarkTests", swiftSettings: strict),
        .testTarget(name: "TidyTests", path: "Tests/TidyTests", swiftSettings: strict),
    ]
)
