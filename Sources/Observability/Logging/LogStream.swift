import Glibc
import Synchronization

/// A stream that takes lines as long as somebody reads them.
///
/// The descriptor stays as it is: to make it non-blocking would do so for whoever else has it, such as the shell of a terminal. A pipe is
/// ready when it takes `PIPE_BUF` bytes, so longer lines are written piece by piece, each only when the stream is ready.
package final class LogStream: Sendable {
    /// Most bytes of one write. Source: a pipe that is ready takes as many without waiting (PIPE_BUF, pipe(7)).
    private static let pieceByteCount = 4_096
    /// A line that was begun and whose reader stands still is cut after so long, in milliseconds.
    private static let restMilliseconds: Int32 = 10

    private struct State {
        var lostCount = 0
        /// Whether a line was cut, and its end is still to be written.
        var isInLine = false
    }

    private let descriptor: Int32
    // Between asking whether there is room and writing, nobody else of this process may write.
    private let state = Mutex(State())

    /// Writes to a descriptor, which stays open as long as this is used.
    package init(descriptor: Int32) { self.descriptor = descriptor }

    /// Lines that were lost so far, whole or in part.
    package var lostCount: Int { state.withLock { $0.lostCount } }

    /// Writes one line and its end, or nothing when the stream is full.
    package func write(_ line: String) {
        state.withLock { state in
            var bytes = Array(line.utf8)
            if state.isInLine { bytes.insert(UInt8(ascii: "\n"), at: 0) }
            bytes.append(UInt8(ascii: "\n"))
            var rest = bytes[...]
            while !rest.isEmpty {
                let hasBegun = rest.count < bytes.count
                guard isReady(milliseconds: hasBegun ? Self.restMilliseconds : 0), let count = write(rest) else {
                    state.lostCount += 1
                    state.isInLine = state.isInLine || hasBegun
                    return
                }
                rest = rest.dropFirst(count)
            }
            state.isInLine = false
        }
    }

    private func isReady(milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        // unsafe: poll and write are only to be had with pointers; each is to memory of this call.
        let count = unsafe poll(&entry, 1, milliseconds)
        return count == 1 && entry.revents & Int16(POLLOUT) != 0
    }

    /// How many bytes were taken; nil when none can be.
    private func write(_ bytes: ArraySlice<UInt8>) -> Int? {
        while true {
            // unsafe: as above.
            let written = unsafe bytes.prefix(Self.pieceByteCount).withUnsafeBytes { buffer in
                unsafe Glibc.write(descriptor, buffer.baseAddress, buffer.count)
            }
            if written > 0 { return written }
            guard written < 0, errno == EINTR else { return nil }
        }
    }
}
