import CNGHTTP2

/// One entry of a SETTINGS frame (RFC 9113, 6.5.2).
package struct HTTP2Setting: Sendable, Equatable {
    package let identifier: UInt16
    package let value: UInt32

    package init(identifier: UInt16, value: UInt32) {
        self.identifier = identifier
        self.value = value
    }

    /// Bytes of the HPACK table the peer's encoder may use. The protocol's default is 4,096.
    package static func headerTableSize(_ byteCount: UInt32) -> Self { Self(identifier: 0x1, value: byteCount) }
    /// Whether the peer may push. A client says no; a server never says anything.
    package static func enablePush(_ enabled: Bool) -> Self { Self(identifier: 0x2, value: enabled ? 1 : 0) }
    /// Streams the peer may have open at once. Without it there is no limit.
    package static func maxConcurrentStreams(_ count: UInt32) -> Self { Self(identifier: 0x3, value: count) }
    /// Bytes the peer may send on a new stream before it needs a window update. Default 65,535, at most 2^31-1.
    package static func initialWindowSize(_ byteCount: UInt32) -> Self { Self(identifier: 0x4, value: byteCount) }
    /// Bytes of the largest frame payload the peer may send: 16,384 (default) to 2^24-1.
    package static func maxFrameSize(_ byteCount: UInt32) -> Self { Self(identifier: 0x5, value: byteCount) }
    /// Bytes of the largest header list the peer should send (advice, RFC 9113 10.5.1).
    package static func maxHeaderListSize(_ byteCount: UInt32) -> Self { Self(identifier: 0x6, value: byteCount) }
    /// Says that the priority signals of RFC 7540 are ignored (RFC 9218, 2.1).
    package static let withoutPriorities = Self(identifier: 0x9, value: 1)

    /// Lends the entries in libnghttp2's form.
    static func withEntries<Result>(
        _ settings: [HTTP2Setting], _ body: (UnsafePointer<nghttp2_settings_entry>?, Int) throws(HTTP2Error) -> Result
    ) throws(HTTP2Error) -> Result {
        let entries = settings.map { nghttp2_settings_entry(settings_id: Int32($0.identifier), value: $0.value) }
        return try unsafe entries.withUnsafeBufferPointer { (buffer) throws(HTTP2Error) -> Result in
            try unsafe body(buffer.baseAddress, buffer.count)
        }
    }
}
