/// What was typed after the program's name: words, then options, in any order among themselves.
struct CommandArguments {
    /// What is wrong with it, in one line.
    struct Mistake: Error, CustomStringConvertible {
        let description: String
    }

    /// Words before the first option, such as `app create`.
    let words: [String]
    /// Whether `--json` was given.
    let isJSON: Bool
    /// Whether `--help` was given.
    let isHelp: Bool
    /// Whether `--version` was given.
    let isVersion: Bool
    private var values: [String: String]

    /// Reads `--name value` and `--name=value`.
    init(_ arguments: [String]) throws(Mistake) {
        var words: [String] = []
        var values: [String: String] = [:]
        var flags: Set<String> = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("--") else {
                guard values.isEmpty, flags.isEmpty else {
                    throw Mistake(description: "'\(argument)' stands where an option is expected")
                }
                words.append(argument)
                continue
            }
            let parts = argument.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            if ["json", "help", "version"].contains(name) {
                guard parts.count == 1 else { throw Mistake(description: "--\(name) takes no value") }
                flags.insert(name)
                continue
            }
            guard values[name] == nil else { throw Mistake(description: "--\(name) is given twice") }
            guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst() else {
                throw Mistake(description: "--\(name) has no value, or is no option at all")
            }
            values[name] = value
        }
        self.words = words
        self.values = values
        isJSON = flags.contains("json")
        isHelp = flags.contains("help")
        isVersion = flags.contains("version")
    }

    /// Takes a word for the value of an option.
    mutating func add(_ name: String, _ value: String) throws(Mistake) {
        guard values.updateValue(value, forKey: name) == nil else {
            throw Mistake(description: "'\(value)' and --\(name) say the same; give one")
        }
    }

    /// Takes an option that must be there and not be empty.
    mutating func take(_ name: String) throws(Mistake) -> String {
        guard let value = values.removeValue(forKey: name) else { throw Mistake(description: "--\(name) is missing") }
        guard !value.isEmpty else { throw Mistake(description: "--\(name) is empty") }
        return value
    }

    /// Takes an option that may be there.
    mutating func takeOptional(_ name: String) -> String? { values.removeValue(forKey: name) }

    /// Takes an option and reads it; `expected` says what it must be.
    mutating func take<Value>(_ name: String, expected: String, _ read: (String) -> Value?) throws(Mistake) -> Value {
        guard let value = read(try take(name)) else { throw Mistake(description: "--\(name) must be \(expected)") }
        return value
    }

    /// Takes an option that may be there and reads it; `expected` says what it must be.
    mutating func takeOptional<Value>(
        _ name: String, expected: String, _ read: (String) -> Value?
    ) throws(Mistake) -> Value? {
        guard let text = takeOptional(name) else { return nil }
        guard let value = read(text) else { throw Mistake(description: "--\(name) must be \(expected)") }
        return value
    }

    /// Refuses options that no command took.
    func finish() throws(Mistake) {
        guard let surplus = values.keys.sorted().first else { return }
        throw Mistake(description: "this command has no option --\(surplus)")
    }
}
