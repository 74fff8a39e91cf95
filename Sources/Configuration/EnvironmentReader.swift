import Security

/// Reads variables one by one and collects everything that is wrong, so that an operator mends it in one go.
struct EnvironmentReader {
    private let environment: [String: String]
    private let readFile: (String) throws(SecurityError) -> [UInt8]
    private var mistakes: [ConfigurationMistake] = []

    /// Refuses variables of this project that do not exist.
    init(_ environment: [String: String], readFile: @escaping (String) throws(SecurityError) -> [UInt8]) {
        self.environment = environment
        self.readFile = readFile
        let known = Set(ConfigurationVariable.allCases.flatMap { [$0.rawValue, $0.fileName] })
        for name in environment.keys where name.hasPrefix(ConfigurationVariable.prefix) && !known.contains(name) {
            mistakes.append(ConfigurationMistake(variable: name, problem: .unknown))
        }
    }

    /// Notes what is wrong with `variable`, under the name the operator gave.
    mutating func refuse(_ variable: ConfigurationVariable, _ problem: ConfigurationMistake.Problem) {
        let isFile = environment[variable.rawValue] == nil && environment[variable.fileName] != nil
        mistakes.append(ConfigurationMistake(variable: isFile ? variable.fileName : variable.rawValue, problem: problem))
    }

    /// Whether it is there in either form, right or wrong.
    func isGiven(_ variable: ConfigurationVariable) -> Bool {
        environment[variable.rawValue] != nil || environment[variable.fileName] != nil
    }

    /// The value in either form; nil when it is not given, or when it is wrong and was noted.
    mutating func text(_ variable: ConfigurationVariable) -> String? {
        let direct = environment[variable.rawValue]
        guard let path = environment[variable.fileName] else { return direct.flatMap { notEmpty(variable, $0) } }
        guard direct == nil else {
            refuse(variable, .givenTwice)
            return nil
        }
        return contents(ofFile: path, for: variable)
    }

    /// Like `text`, but not giving it is a mistake.
    mutating func required(_ variable: ConfigurationVariable) -> String? {
        guard isGiven(variable) else {
            refuse(variable, .missing)
            return nil
        }
        return text(variable)
    }

    /// A whole number in `range`; the default when it is not given.
    mutating func integer(_ variable: ConfigurationVariable, default: Int, in range: ClosedRange<Int>) -> Int {
        guard let text = text(variable) else { return `default` }
        let isPlain = text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard isPlain, let number = Int(text), range.contains(number) else {
            refuse(variable, .outOfRange(range))
            return `default`
        }
        return number
    }

    /// One of `choices` by name; the default when it is not given.
    mutating func choice<Choice>(
        _ variable: ConfigurationVariable, default: Choice, of choices: [(name: String, value: Choice)]
    ) -> Choice {
        guard let text = text(variable) else { return `default` }
        guard let choice = choices.first(where: { $0.name == text }) else {
            refuse(variable, .notOneOf(choices.map(\.name)))
            return `default`
        }
        return choice.value
    }

    /// A value made by `parse`, which gives nil for what is not as `expected` describes; nil when it is not given.
    mutating func parsed<Value>(
        _ variable: ConfigurationVariable, expected: String, _ parse: (String) -> Value?
    ) -> Value? {
        guard let text = text(variable) else { return nil }
        guard let value = parse(text) else {
            refuse(variable, .malformed(expected: expected))
            return nil
        }
        return value
    }

    /// A PEM text, given as such or by the path of a file that holds it.
    mutating func pem(_ variable: ConfigurationVariable) -> [UInt8]? {
        guard let text = text(variable) else { return nil }
        let isPath = environment[variable.rawValue] != nil && !text.contains("-----BEGIN ")
        return (isPath ? contents(ofFile: text, for: variable) : text).map { Array($0.utf8) }
    }

    /// Throws the whole list when anything was wrong.
    func finish() throws(ConfigurationError) {
        guard !mistakes.isEmpty else { return }
        throw ConfigurationError(mistakes: mistakes.sorted { $0.variable < $1.variable })
    }

    private mutating func contents(ofFile path: String, for variable: ConfigurationVariable) -> String? {
        guard notEmpty(variable, path) != nil else { return nil }
        do {
            guard let text = String(validating: try readFile(path), as: UTF8.self) else {
                refuse(variable, .notText)
                return nil
            }
            // "\r\n" is one character.
            return notEmpty(variable, text.last == "\n" || text.last == "\r\n" ? String(text.dropLast()) : text)
        } catch {
            refuse(variable, .unreadable(error.description))
            return nil
        }
    }

    private mutating func notEmpty(_ variable: ConfigurationVariable, _ text: String) -> String? {
        guard text.isEmpty else { return text }
        refuse(variable, .empty)
        return nil
    }
}
