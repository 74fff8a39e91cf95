/// PostgreSQL's binary wire format: big-endian integers, lengths before values, time counted from the year 2000.
enum BinaryFormat {
    /// Microseconds from 1970-01-01 to 2000-01-01, PostgreSQL's epoch.
    static let epochMicroseconds: Int64 = 946_684_800_000_000
    /// The version byte in front of a `jsonb` value.
    static let jsonbVersion: UInt8 = 1
    /// The length that stands for NULL.
    static let nullLength: Int32 = -1

    @inline(__always)
    static func append<Integer: FixedWidthInteger>(_ value: Integer, to bytes: inout [UInt8]) {
        var shift = Integer.bitWidth - 8
        while shift >= 0 {
            bytes.append(UInt8(truncatingIfNeeded: value >> Integer(truncatingIfNeeded: shift)))
            shift -= 8
        }
    }

    @inline(__always)
    static func append<Integer: FixedWidthInteger>(_ value: Integer, to bytes: inout OutputSpan<UInt8>) {
        var shift = Integer.bitWidth - 8
        while shift >= 0 {
            bytes.append(UInt8(truncatingIfNeeded: value >> Integer(truncatingIfNeeded: shift)))
            shift -= 8
        }
    }

    /// A time as PostgreSQL counts it. What its range cannot hold becomes a value it refuses, never a special one.
    static func postgreSQLTime(microsecondsSince1970: Int64) -> Int64 {
        let (time, overflow) = microsecondsSince1970.subtractingReportingOverflow(epochMicroseconds)
        // Int64.min itself means '-infinity'.
        return overflow || time == .min ? .min + 1 : time
    }

    /// The way back; 'infinity' and '-infinity' become the largest and smallest value.
    static func microsecondsSince1970(postgreSQLTime time: Int64) -> Int64 {
        guard time != .min else { return .min }
        let (microseconds, overflow) = time.addingReportingOverflow(epochMicroseconds)
        return overflow ? .max : microseconds
    }

    /// One dimension of `count` elements, or none when there are no elements.
    static func appendArrayHeader(count: Int, element: TypeIdentifier, containsNull: Bool, to bytes: inout [UInt8]) {
        append(Int32(count == 0 ? 0 : 1), to: &bytes)
        append(Int32(containsNull ? 1 : 0), to: &bytes)
        append(element.rawValue, to: &bytes)
        guard count > 0 else { return }
        append(Int32(count), to: &bytes)
        append(Int32(1), to: &bytes)
    }

    static func appendArray<Integer: FixedWidthInteger>(_ values: [Integer], element: TypeIdentifier, to bytes: inout [UInt8]) {
        bytes.reserveCapacity(bytes.count + 20 + values.count * (4 + Integer.bitWidth / 8))
        appendArrayHeader(count: values.count, element: element, containsNull: false, to: &bytes)
        for value in values {
            append(Int32(Integer.bitWidth / 8), to: &bytes)
            append(value, to: &bytes)
        }
    }

    static func appendArray(_ values: [[UInt8]?], element: TypeIdentifier, to bytes: inout [UInt8]) {
        appendArrayHeader(count: values.count, element: element, containsNull: values.contains { $0 == nil }, to: &bytes)
        for value in values {
            guard let value else {
                append(nullLength, to: &bytes)
                continue
            }
            append(Int32(value.count), to: &bytes)
            bytes.append(contentsOf: value)
        }
    }

    static func appendArray(_ values: [String?], to bytes: inout [UInt8]) {
        appendArrayHeader(count: values.count, element: .text, containsNull: values.contains { $0 == nil }, to: &bytes)
        for value in values {
            guard let value else {
                append(nullLength, to: &bytes)
                continue
            }
            append(Int32(value.utf8.count), to: &bytes)
            bytes.append(contentsOf: value.utf8)
        }
    }

    static func appendTimes(_ values: [Int64?], to bytes: inout [UInt8]) {
        appendArrayHeader(count: values.count, element: .timestamptz, containsNull: values.contains { $0 == nil }, to: &bytes)
        for value in values {
            guard let value else {
                append(nullLength, to: &bytes)
                continue
            }
            append(Int32(8), to: &bytes)
            append(postgreSQLTime(microsecondsSince1970: value), to: &bytes)
        }
    }
}

extension Parameter {
    /// Appends the value; nothing for `null`.
    func encode(to bytes: inout [UInt8]) {
        switch self {
        case .null: break
        case .bool(let value): bytes.append(value ? 1 : 0)
        case .int16(let value): BinaryFormat.append(value, to: &bytes)
        case .int32(let value): BinaryFormat.append(value, to: &bytes)
        case .int64(let value): BinaryFormat.append(value, to: &bytes)
        case .double(let value): BinaryFormat.append(value.bitPattern, to: &bytes)
        case .text(let value): bytes.append(contentsOf: value.utf8)
        case .bytes(let value): bytes.append(contentsOf: value)
        case .uuid(let value):
            precondition(value.count == 16, "a UUID has 16 bytes")
            bytes.append(contentsOf: value)
        case .timestamp(let microseconds):
            BinaryFormat.append(BinaryFormat.postgreSQLTime(microsecondsSince1970: microseconds), to: &bytes)
        case .jsonb(let value):
            bytes.append(BinaryFormat.jsonbVersion)
            bytes.append(contentsOf: value)
        case .int16Array(let values): BinaryFormat.appendArray(values, element: .int2, to: &bytes)
        case .int32Array(let values): BinaryFormat.appendArray(values, element: .int4, to: &bytes)
        case .int64Array(let values): BinaryFormat.appendArray(values, element: .int8, to: &bytes)
        case .textArray(let values): BinaryFormat.appendArray(values, to: &bytes)
        case .bytesArray(let values): BinaryFormat.appendArray(values, element: .bytea, to: &bytes)
        case .uuidArray(let values):
            precondition(values.allSatisfy { $0.count == 16 }, "a UUID has 16 bytes")
            BinaryFormat.appendArray(values.map(Optional.some), element: .uuid, to: &bytes)
        case .timestampArray(let values): BinaryFormat.appendTimes(values, to: &bytes)
        }
    }
}
