import CLinux
import Glibc

/// Where a TCP socket is: an IPv4 or IPv6 address and a port.
package struct SocketAddress: Sendable, Hashable, CustomStringConvertible {
    enum Host: Hashable {
        /// The 32 bits of the address in the host's byte order.
        case ipv4(UInt32)
        /// The 128 bits of the address in the host's byte order, and the interface a link-local address belongs to (0: none).
        case ipv6(high: UInt64, low: UInt64, scope: UInt32)
    }

    let host: Host
    /// TCP port; 0 stands for "any free one" when binding.
    package let port: UInt16

    init(host: Host, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// A dotted IPv4 address such as "127.0.0.1"; nil for anything else.
    package init?(ipv4 text: String, port: UInt16) {
        var address = in_addr()
        guard unsafe inet_pton(AF_INET, text, &address) == 1 else { return nil }
        self.init(host: .ipv4(UInt32(bigEndian: address.s_addr)), port: port)
    }

    /// An IPv6 address such as "::1" or "fe80::1%eth0", without brackets; nil for anything else.
    package init?(ipv6 text: String, port: UInt16) {
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        var address = in6_addr()
        guard let digits = parts.first, unsafe inet_pton(AF_INET6, String(digits), &address) == 1 else { return nil }
        var scope: UInt32 = 0
        if parts.count == 2 {
            scope = unsafe UInt32(parts[1]) ?? if_nametoindex(String(parts[1]))
            guard scope != 0 else { return nil }
        }
        self.init(host: SocketAddress.host(of: address, scope: scope), port: port)
    }

    /// An address of either family, IPv6 with or without brackets; nil for a host name.
    package init?(literal text: String, port: UInt16) {
        if let address = SocketAddress(ipv4: text, port: port) {
            self = address
        } else if let address = SocketAddress(ipv6: SocketAddress.withoutBrackets(text), port: port) {
            self = address
        } else {
            return nil
        }
    }

    /// The host as URLs carry it, "[::1]", without its brackets.
    static func withoutBrackets(_ text: String) -> String {
        text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
    }

    /// The same host with another port.
    package func withPort(_ port: UInt16) -> SocketAddress {
        SocketAddress(host: host, port: port)
    }

    /// The address without the port: "127.0.0.1" or "::1".
    package var hostText: String {
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let scope: UInt32
        switch host {
        case .ipv4(let bits):
            var address = in_addr(s_addr: bits.bigEndian)
            _ = unsafe inet_ntop(AF_INET, &address, &buffer, socklen_t(buffer.count))
            scope = 0
        case .ipv6(let high, let low, let interface):
            var address = SocketAddress.systemAddress(high: high, low: low)
            _ = unsafe inet_ntop(AF_INET6, &address, &buffer, socklen_t(buffer.count))
            scope = interface
        }
        let text = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return scope == 0 ? text : "\(text)%\(scope)"
    }

    /// "127.0.0.1:8080" or "[::1]:8080".
    package var description: String {
        switch host {
        case .ipv4: "\(hostText):\(port)"
        case .ipv6: "[\(hostText)]:\(port)"
        }
    }
}

// MARK: - The system's form

extension SocketAddress {
    /// `AF_INET` or `AF_INET6`.
    var family: Int32 {
        switch host {
        case .ipv4: AF_INET
        case .ipv6: AF_INET6
        }
    }

    /// Lends the address as the system calls take it.
    func withSystemAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var storage = sockaddr_storage()
        return unsafe withUnsafeMutablePointer(to: &storage) { (pointer) -> Result in
            let raw = UnsafeMutableRawPointer(pointer)
            let length: Int
            switch host {
            case .ipv4(let bits):
                let address = unsafe raw.assumingMemoryBound(to: sockaddr_in.self)
                unsafe address.pointee.sin_family = sa_family_t(AF_INET)
                unsafe address.pointee.sin_port = port.bigEndian
                unsafe address.pointee.sin_addr = in_addr(s_addr: bits.bigEndian)
                length = MemoryLayout<sockaddr_in>.size
            case .ipv6(let high, let low, let scope):
                let address = unsafe raw.assumingMemoryBound(to: sockaddr_in6.self)
                unsafe address.pointee.sin6_family = sa_family_t(AF_INET6)
                unsafe address.pointee.sin6_port = port.bigEndian
                unsafe address.pointee.sin6_addr = SocketAddress.systemAddress(high: high, low: low)
                unsafe address.pointee.sin6_scope_id = scope
                length = MemoryLayout<sockaddr_in6>.size
            }
            return unsafe body(raw.assumingMemoryBound(to: sockaddr.self), socklen_t(length))
        }
    }

    /// Runs a call that fills an address in, and reads it; nil when the call failed or the family is another.
    static func reading(_ call: (UnsafeMutablePointer<sockaddr>, inout socklen_t) -> Int32) -> (
        result: Int32, address: SocketAddress?
    ) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return unsafe withUnsafeMutablePointer(to: &storage) { (pointer) -> (Int32, SocketAddress?) in
            let address = unsafe UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: sockaddr.self)
            let result = unsafe call(address, &length)
            return unsafe (result, result == -1 ? nil : SocketAddress(system: address))
        }
    }

    /// Reads an address the system made; nil for a family other than IPv4 and IPv6. The pointer must lead to the family's full size.
    init?(system pointer: UnsafePointer<sockaddr>) {
        let raw = unsafe UnsafeRawPointer(pointer)
        switch unsafe Int32(pointer.pointee.sa_family) {
        case AF_INET:
            let address = unsafe raw.loadUnaligned(as: sockaddr_in.self)
            self.init(host: .ipv4(UInt32(bigEndian: address.sin_addr.s_addr)), port: UInt16(bigEndian: address.sin_port))
        case AF_INET6:
            let address = unsafe raw.loadUnaligned(as: sockaddr_in6.self)
            self.init(
                host: SocketAddress.host(of: address.sin6_addr, scope: address.sin6_scope_id),
                port: UInt16(bigEndian: address.sin6_port))
        default:
            return nil
        }
    }

    private static func host(of address: in6_addr, scope: UInt32) -> Host {
        unsafe withUnsafeBytes(of: address) { bytes in
            unsafe .ipv6(
                high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)), scope: scope)
        }
    }

    private static func systemAddress(high: UInt64, low: UInt64) -> in6_addr {
        var address = in6_addr()
        unsafe withUnsafeMutableBytes(of: &address) { bytes in
            unsafe bytes.storeBytes(of: high.bigEndian, as: UInt64.self)
            unsafe bytes.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
        return address
    }
}
