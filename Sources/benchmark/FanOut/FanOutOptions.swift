/// What `benchmark fan-out` is asked to measure.
struct FanOutOptions {
    /// A group of figures.
    enum Part: String, CaseIterable {
        /// The bare sender beside h2load.
        case sender
        /// One start of the whole daemon.
        case daemon
        /// What claiming and recording cost by themselves.
        case parts
        /// Answers that come late.
        case latency
        /// Few devices against many.
        case scale
    }

    let benchDirectory: String?
    let pushCount: Int
    let deviceCount: Int
    let repetitionCount: Int
    let parts: Set<Part>
    let workDirectory: String
    let isKept: Bool
    let checkout: String

    init(_ arguments: inout BenchmarkArguments) throws {
        benchDirectory = arguments.optionalText("bench-directory")
        pushCount = try arguments.integer("pushes", default: 1_000_000, in: 1...100_000_000)
        deviceCount = try arguments.integer("devices", default: 1_000_000, in: 5...100_000_000)
        repetitionCount = try arguments.integer("repetitions", default: 3, in: 1...100)
        checkout = arguments.optionalText("checkout") ?? "."
        workDirectory = arguments.optionalText("work-directory") ?? "\(checkout)/.local/benchmark"
        isKept = arguments.flag("keep")
        parts = try arguments.optionalText("only").map(Self.parts) ?? Set(Part.allCases)
        try arguments.finish()
    }

    private static func parts(_ text: String) throws -> Set<Part> {
        try Set(
            text.split(separator: ",").map { name in
                guard let part = Part(rawValue: String(name)) else {
                    let names = Part.allCases.map(\.rawValue).joined(separator: ", ")
                    throw BenchmarkArguments.Mistake(description: "--only takes \(names); \(name) is none of them")
                }
                return part
            })
    }

    func includes(_ part: Part) -> Bool { parts.contains(part) }
    /// Whether a database is needed.
    var needsDatabase: Bool { parts != [.sender] }

    /// Devices of the scale's two ends: a fifth and twice as many.
    var fewDeviceCount: Int { deviceCount / 5 }
    var manyDeviceCount: Int { deviceCount * 2 }
}
