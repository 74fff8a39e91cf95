import Observability
import Security
import Testing

@testable import Configuration

@Suite("A variable's file form") struct FileFormTests {
    @Test(
        "gives the contents without one line end at the end",
        arguments: [
            ("secret", "secret"), ("secret\n", "secret"), ("secret\r\n", "secret"), ("secret\n\n", "secret\n"), (" s ", " s "),
        ])
    func stripsLineEnd(contents: String, value: String) throws {
        var environment = Environment(variables: ["OPENPUSH_DATABASE_URL_FILE": "db"])
        environment.files["db"] = Array("password=\(contents)".utf8)
        #expect(try environment.administration([]).databaseURL.exposed == "password=\(value)")
    }

    @Test("exists for every variable", arguments: ConfigurationVariable.allCases) func exists(variable: ConfigurationVariable) {
        let environment = Environment(variables: [variable.fileName: "missing"])
        let error = #expect(throws: ConfigurationError.self) { try environment.daemon() }
        let problem = ConfigurationMistake.Problem.unreadable("file: No such file or directory")
        #expect(error?.mistakes.contains(ConfigurationMistake(variable: variable.fileName, problem: problem)) == true)
    }

    @Test("is refused when it names no file at all") func refusesNothing() {
        #expect(
            Environment.mistakes(["OPENPUSH_LOG_LEVEL_FILE": ""])
                == ["OPENPUSH_LOG_LEVEL_FILE: is empty; leave it out for the default"])
    }

    @Test("is refused beside the direct form, even with the same value") func refusesBoth() {
        #expect(
            Environment.mistakes(
                ["OPENPUSH_LOG_LEVEL": "info", "OPENPUSH_LOG_LEVEL_FILE": "level"], files: ["level": Array("info".utf8)])
                == ["OPENPUSH_LOG_LEVEL: is given both directly and as OPENPUSH_LOG_LEVEL_FILE"])
    }

    @Test(
        "is refused when the file is empty or no text",
        arguments: [([], "is empty; leave it out for the default"), ([0xFF], "its file holds no UTF-8 text")]
            as [([UInt8], String)])
    func refusesContents(contents: [UInt8], problem: String) {
        #expect(
            Environment.mistakes(["OPENPUSH_LOG_LEVEL_FILE": "level"], files: ["level": contents])
                == ["OPENPUSH_LOG_LEVEL_FILE: \(problem)"])
    }
}
