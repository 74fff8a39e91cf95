import Testing

/// One case of the JSON parsing test suite by Nicolas Seriot (nst/JSONTestSuite, MIT licence).
struct SuiteCase: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]

    init(_ name: String, _ text: String) { self.init(name, bytes: Array(text.utf8)) }
    init(_ name: String, bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
    }
    var testDescription: String { name }
}
