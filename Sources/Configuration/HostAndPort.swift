/// The texts that name a host and a port.
enum HostAndPort {
    /// Splits `host`, `host:port`, `[address]` or `[address]:port`; nil when brackets or port are wrong. IPv6 needs its brackets.
    static func split(_ text: some StringProtocol) -> (host: String, port: UInt16?)? {
        if text.first == "[" {
            guard let end = text.firstIndex(of: "]") else { return nil }
            let host = String(text[text.index(after: text.startIndex)..<end])
            guard isIPv6(host) else { return nil }
            let rest = text[text.index(after: end)...]
            guard !rest.isEmpty else { return (host, nil) }
            guard rest.first == ":", let port = port(rest.dropFirst()) else { return nil }
            return (host, port)
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        switch parts.count {
        case 1: return (String(text), nil)
        case 2: return port(parts[1]).map { (String(parts[0]), $0) }
        default: return nil
        }
    }

    /// 0 to 65535, digits only.
    private static func port(_ text: some StringProtocol) -> UInt16? {
        guard !text.isEmpty, text.utf8.allSatisfy(isDigit) else { return nil }
        return UInt16(text)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    /// Whether this is an IPv4 address in four decimal parts.
    static func isIPv4(_ text: some StringProtocol) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4
            && parts.allSatisfy { part in
                (1...3).contains(part.utf8.count) && part.utf8.allSatisfy(isDigit) && UInt8(part) != nil
                    && (part.utf8.count == 1 || part.first != "0")
            }
    }

    /// Whether this is an IPv6 address (RFC 4291 2.2), without a zone.
    static func isIPv6(_ text: some StringProtocol) -> Bool {
        var groups: [Substring] = []
        var gapCount = 0
        var rest = Substring(text)
        if rest.hasPrefix("::") {
            gapCount = 1
            rest = rest.dropFirst(2)
        }
        while !rest.isEmpty {
            let group = rest.prefix { $0 != ":" }
            guard !group.isEmpty else { return false }
            groups.append(group)
            rest = rest.dropFirst(group.count)
            if rest.hasPrefix("::") {
                gapCount += 1
                rest = rest.dropFirst(2)
            } else if !rest.isEmpty {
                rest = rest.dropFirst()
                guard !rest.isEmpty else { return false }
            }
        }
        // An IPv4 address at the end stands for two groups.
        var groupCount = groups.count
        if let last = groups.last, !text.hasSuffix(":"), isIPv4(last) {
            groups.removeLast()
            groupCount += 1
        }
        let areHexadecimal = groups.allSatisfy { group in
            (1...4).contains(group.utf8.count) && group.allSatisfy { $0.isASCII && $0.isHexDigit }
        }
        return areHexadecimal && (gapCount == 0 ? groupCount == 8 : gapCount == 1 && groupCount < 8)
    }

    /// Whether this can be a DNS name: labels of letters, digits, hyphens and underscores, 253 bytes at most.
    static func isName(_ text: some StringProtocol) -> Bool {
        guard text.utf8.count <= 253 else { return false }
        return text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
            (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
                && label.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
        }
    }
}
