import Testing

@Suite("Style") struct StyleTests {
    /// Each of these needs its reason on the line above.
    static let escapeHatches = ["@unchecked Sendable", "nonisolated(unsafe)", "try!", "fatalError("]
    /// Longest file and longest function, in lines.
    static let fileLineCount = 300
    static let functionLineCount = 70

    @Test("says why above an escape hatch", arguments: SourceTree.sources)
    func explainsEscapeHatches(file: SourceFile) {
        for (index, line) in file.lines.enumerated() where !line.trimmingPrefix(while: \.isWhitespace).hasPrefix("//") {
            for hatch in Self.escapeHatches where line.contains(hatch) {
                #expect(file.hasReasonAbove(index), "\(file.path):\(index + 1): \(hatch) without a reason on the line above")
            }
        }
    }

    @Test("keeps pointers in the wrappers of C libraries and of the system", arguments: SourceTree.sources)
    func keepsPointersInWrappers(file: SourceFile) {
        let wrappers = ["Compression", "Security", "Networking", "HTTP", "PostgreSQL", "Journal"]
        guard !wrappers.contains(file.target) else { return }
        for (index, line) in file.lines.enumerated() where line.contains("unsafe ") {
            // Giving an actor its loop, reading the environment, and writing to a standard stream have no safe spelling.
            let isKnown = ["asUnownedSerialExecutor", "environ", "write(", "clock_gettime", "CommandLine"].contains {
                line.contains($0)
            }
            #expect(isKnown || file.hasReasonAbove(index), "\(file.path):\(index + 1): unsafe outside a wrapper")
        }
    }

    @Test("keeps SQL in the store", arguments: SourceTree.sources)
    func keepsSQLInStore(file: SourceFile) {
        guard !["Store", "PostgreSQL"].contains(file.target) else { return }
        let pattern = #/"[^"]*\b(SELECT .* FROM|INSERT INTO|DELETE FROM|UPDATE \w+ SET)\b/#
        for (index, line) in file.lines.enumerated() {
            #expect(line.firstMatch(of: pattern) == nil, "\(file.path):\(index + 1): SQL outside Store")
        }
    }

    @Test("keeps a file to one idea", arguments: SourceTree.sources)
    func keepsFilesShort(file: SourceFile) {
        #expect(file.lines.count <= Self.fileLineCount + 1, "\(file.path) has \(file.lines.count) lines")
    }

    @Test("keeps a function to one screen", arguments: SourceTree.sources)
    func keepsFunctionsShort(file: SourceFile) {
        var start: (line: Int, indent: String)?
        for (index, line) in file.lines.enumerated() {
            if start == nil,
                line.firstMatch(of: #/^ *[a-z@][^"]*\bfunc [^"]*\{$/#) != nil || line.firstMatch(of: #/^ *func [^"]*\{$/#) != nil
            {
                start = (index, String(line.prefix { $0 == " " }))
            } else if let (line: begin, indent) = start, line == indent + "}" {
                #expect(
                    index - begin <= Self.functionLineCount, "\(file.path):\(begin + 1): a function of \(index - begin) lines")
                start = nil
            }
        }
    }

    @Test("documents every type other targets see", arguments: SourceTree.sources)
    func documentsTypes(file: SourceFile) {
        let pattern = #/^ *(@\w+(\([^)]*\))? )*(package|public) (final |indirect )*(struct|class|enum|actor|protocol) /#
        for (index, line) in file.lines.enumerated() where line.firstMatch(of: pattern) != nil {
            #expect(file.hasReasonAbove(index), "\(file.path):\(index + 1): no documentation")
        }
    }

    @Test("leaves nothing unfinished", arguments: SourceTree.sources + SourceTree.tests.filter { $0.target != "TidyTests" })
    func leavesNothingUnfinished(file: SourceFile) {
        for (index, line) in file.lines.enumerated() {
            for mark in ["TODO", "FIXME", "XXX:"] { #expect(!line.contains(mark), "\(file.path):\(index + 1): \(mark)") }
        }
    }

    @Test("does not sleep in tests", arguments: SourceTree.tests.filter { $0.target != "TidyTests" })
    func doesNotSleepInTests(file: SourceFile) {
        for (index, line) in file.lines.enumerated() where !line.trimmingPrefix(while: \.isWhitespace).hasPrefix("//") {
            #expect(!line.contains("Task.sleep") && !line.contains("usleep("), "\(file.path):\(index + 1): a sleeping test")
        }
    }
}
