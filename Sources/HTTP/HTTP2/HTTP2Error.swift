import CNGHTTP2

/// A failure libnghttp2 reported.
package struct HTTP2Error: Error, Equatable, CustomStringConvertible {
    /// The negative libnghttp2 code, such as -902 (callback failure).
    package let code: Int32

    package init(code: Int32) { self.code = code }

    package var description: String {
        guard let text = unsafe nghttp2_strerror(code) else { return "HTTP/2 failure \(code)" }
        return unsafe "HTTP/2: \(String(cString: text)) (\(code))"
    }

    /// Passes a result of libnghttp2 on, or throws when it is a failure.
    @discardableResult
    static func check(_ code: Int32) throws(HTTP2Error) -> Int32 {
        guard code >= 0 else { throw HTTP2Error(code: code) }
        return code
    }

    /// The same for the functions that answer with a byte count.
    @discardableResult
    static func check(_ count: Int) throws(HTTP2Error) -> Int {
        guard count >= 0 else { throw HTTP2Error(code: Int32(truncatingIfNeeded: count)) }
        return count
    }
}

/// Error codes of RST_STREAM and GOAWAY (RFC 9113, 7).
package enum HTTP2ErrorCode {
    package static let noError: UInt32 = 0x0
    package static let protocolError: UInt32 = 0x1
    package static let internalError: UInt32 = 0x2
    package static let flowControlError: UInt32 = 0x3
    package static let settingsTimeout: UInt32 = 0x4
    package static let streamClosed: UInt32 = 0x5
    package static let frameSizeError: UInt32 = 0x6
    package static let refusedStream: UInt32 = 0x7
    package static let cancel: UInt32 = 0x8
    package static let compressionError: UInt32 = 0x9
    package static let connectError: UInt32 = 0xA
    package static let enhanceYourCalm: UInt32 = 0xB
    package static let inadequateSecurity: UInt32 = 0xC
    package static let http11Required: UInt32 = 0xD
}
