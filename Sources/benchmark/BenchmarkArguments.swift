/// What was typed: a command, then options with values and switches without.
struct BenchmarkArguments {
    struct Mistake: Error, CustomStringConvertible {
        let description: String
    }

    /// Options that take no value.
    private static let switches: Set<String> = ["--keep"]

    let command: String
    private var values: [String: String] = [:]
    private var given: Set<String> = []

    init(_ arguments: some Sequence<String>) throws {
        var rest = Array(arguments)[...]
        command = rest.popFirst() ?? "--help"
        while let name = rest.popFirst() {
            guard name.hasPrefix("--") else { throw Mistake(description: "\(name) is no option") }
            if Self.switches.contains(name) {
                given.insert(name)
            } else if let value = rest.popFirst() {
                values[name] = value
            } else {
                throw Mistake(description: "\(name) needs a value")
            }
        }
    }

    mutating func text(_ name: String) throws -> String {
        guard let value = optionalText(name) else { throw Mistake(description: "--\(name) is missing") }
        return value
    }

    mutating func optionalText(_ name: String) -> String? { values.removeValue(forKey: "--\(name)") }

    mutating func integer(_ name: String, default value: Int, in range: ClosedRange<Int>) throws -> Int {
        guard let text = optionalText(name) else { return value }
        guard let number = Int(text), range.contains(number) else { throw Mistake(description: "--\(name) must be in \(range)") }
        return number
    }

    /// Whether a switch was given.
    mutating func flag(_ name: String) -> Bool { given.remove("--\(name)") != nil }

    func finish() throws {
        if let surplus = given.union(values.keys).sorted().first { throw Mistake(description: "there is no option \(surplus)") }
    }
}
