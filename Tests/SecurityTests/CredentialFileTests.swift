import Foundation
import Testing

@testable import Security

@Suite("Credential file") struct CredentialFileTests {
    @Test("is read whole", arguments: [0, 1, 65_536, 100_000]) func reads(count: Int) throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "openpushd-\(Foundation.UUID())")
        defer { try? FileManager.default.removeItem(at: url) }
        let contents = RandomBytes.generate(count: count)
        try Data(contents).write(to: url)
        #expect(try CredentialFile.read(path: url.path) == contents)
    }

    @Test(
        "is refused with the system's reason",
        arguments: [
            ("/nonexistent/file", "No such file or directory"), ("/", "Is a directory"), ("", "No such file or directory"),
        ])
    func refuses(path: String, reason: String) {
        #expect(throws: SecurityError.invalidInput(operation: "file", reason: reason)) { try CredentialFile.read(path: path) }
    }

    @Test("is bounded, even when it never ends") func isBounded() {
        #expect(throws: SecurityError.self) { try CredentialFile.read(path: "/dev/zero") }
    }
}
