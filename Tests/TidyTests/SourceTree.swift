import Foundation
import Testing

/// One Swift file of the project, read once.
struct SourceFile: Sendable, CustomTestStringConvertible {
    /// Path below the top of the project, such as `Sources/JSON/JSONValue.swift`.
    let path: String
    let lines: [String]
    /// The target's folder under Sources/ or Tests/.
    var target: String { String(path.split(separator: "/")[1]) }
    var testDescription: String { path }

    /// Names of the modules it imports.
    var imports: Set<String> {
        Set(
            lines.compactMap { line in
                let words = line.split(separator: " ")
                guard let index = words.firstIndex(of: "import"), index < words.count - 1,
                    words[..<index].allSatisfy({ $0.hasPrefix("@") || ["package", "public", "internal", "private"].contains($0) })
                else { return nil }
                return String(words[index + 1])
            })
    }

    /// Whether the line before says why: a comment, or an attribute below one.
    func hasReasonAbove(_ index: Int) -> Bool {
        var above = index - 1
        while above >= 0 {
            let text = lines[above].trimmingCharacters(in: .whitespaces)
            if text.hasPrefix("//") { return true }
            guard text.hasPrefix("@") else { return false }
            above -= 1
        }
        return false
    }
}

/// The files below Sources/ and Tests/.
enum SourceTree {
    static let top = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    static let sources = files(below: "Sources")
    static let tests = files(below: "Tests")

    private static func files(below folder: String) -> [SourceFile] {
        let root = top.appendingPathComponent(folder)
        let paths = FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
        return paths.filter { $0.hasSuffix(".swift") }.sorted().compactMap { path in
            guard let text = try? String(contentsOf: root.appendingPathComponent(path), encoding: .utf8) else { return nil }
            return SourceFile(path: "\(folder)/\(path)", lines: text.components(separatedBy: "\n"))
        }
    }
}
