/// The nine bytes in front of every frame (RFC 9113, 4.1).
enum FrameHead {
    static let byteCount = 9
    /// Type of a HEADERS frame.
    private static let headers: UInt8 = 1

    /// Whether a frame is the HEADERS frame of that stream.
    static func isHeaders(_ frame: UnsafePointer<UInt8>, of streamID: Int32) -> Bool {
        guard unsafe frame[3] == headers else { return false }
        var id: Int32 = 0
        for index in 5..<byteCount { id = unsafe id << 8 | Int32(frame[index]) }
        return id == streamID
    }
}

extension FrameOutput {
    /// Appends the head of a frame with another length.
    mutating func appendHead(_ frame: UnsafePointer<UInt8>, payloadByteCount: Int) {
        append(UInt8(truncatingIfNeeded: payloadByteCount >> 16))
        append(UInt8(truncatingIfNeeded: payloadByteCount >> 8))
        append(UInt8(truncatingIfNeeded: payloadByteCount))
        unsafe append(frame + 3, count: FrameHead.byteCount - 3)
    }
}
