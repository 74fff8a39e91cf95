import Foundation
import Observability
import Testing

@Suite("A log stream", .timeLimit(.minutes(1))) struct LogStreamTests {
    @Test("whose reader stands still loses lines and never waits, and goes on when somebody reads")
    func fullPipe() throws {
        let pipe = Pipe()
        let stream = LogStream(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        let line = String(repeating: "x", count: 999)
        stream.write("first")
        // A pipe holds 64 KiB.
        for _ in 0..<200 { stream.write(line) }
        let lost = stream.lostCount
        #expect(lost > 100 && lost < 200)
        var read = pipe.fileHandleForReading.readData(ofLength: 6 + 1_000 * (200 - lost))
        #expect(String(decoding: read.prefix(6), as: UTF8.self) == "first\n")
        stream.write("last")
        read = pipe.fileHandleForReading.readData(ofLength: 5)
        #expect(String(decoding: read, as: UTF8.self) == "last\n")
        #expect(stream.lostCount == lost)
    }

    @Test("cuts a line that is longer than the pipe has room for, and begins the next one on a line of its own")
    func cutLine() throws {
        let pipe = Pipe()
        let stream = LogStream(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        stream.write(String(repeating: "x", count: 200_000))
        #expect(stream.lostCount == 1)
        // What a pipe holds.
        let first = pipe.fileHandleForReading.readData(ofLength: 65_536)
        #expect(first.count == 65_536 && first.allSatisfy { $0 == UInt8(ascii: "x") })
        stream.write("next")
        #expect(String(decoding: pipe.fileHandleForReading.readData(ofLength: 6), as: UTF8.self) == "\nnext\n")
    }

    @Test("that is closed at its other end loses the line")
    func closedPipe() throws {
        let pipe = Pipe()
        let stream = LogStream(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        signal(SIGPIPE, SIG_IGN)
        try pipe.fileHandleForReading.close()
        stream.write("nobody")
        #expect(stream.lostCount == 1)
    }
}
