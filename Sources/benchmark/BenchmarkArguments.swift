/// What was typed: a command, then options with values.
struct BenchmarkArguments {
    struct Mistake: Error, CustomStringConvertible {
        let description: String
    }

    let command: String
    private var values: [String: String] = [:]

    init(_ arguments: some Sequence<String>) {
        var rest = Array(arguments)[...]
        command = rest.popFirst() ?? "--help"
        while let name = rest.popFirst(), let value = rest.popFirst() { values[name] = value }
    }

    mutating func text(_ name: String) throws -> String {
        guard let value = values.removeValue(forKey: "--\(name)") else { throw Mistake(description: "--\(name) is missing") }
        return value
    }

    mutating func integer(_ name: String, default value: Int, in range: ClosedRange<Int>) throws -> Int {
        guard let text = values.removeValue(forKey: "--\(name)") else { return value }
        guard let number = Int(text), range.contains(number) else { throw Mistake(description: "--\(name) must be in \(range)") }
        return number
    }

    func finish() throws {
        if let surplus = values.keys.sorted().first { throw Mistake(description: "there is no option \(surplus)") }
    }
}
