/// Writes rows in the format of `COPY ... FROM STDIN (FORMAT binary)`.
package struct CopyBuffer: Sendable {
    private var bytes: [UInt8]
    private var missingFieldCount = 0
    /// Rows begun so far.
    package private(set) var rowCount = 0

    /// `byteCapacity`: bytes to reserve, 0 for none.
    package init(byteCapacity: Int = 0) {
        bytes = []
        bytes.reserveCapacity(byteCapacity + 21)
        bytes.append(contentsOf: "PGCOPY\n".utf8)
        bytes.append(contentsOf: [0xFF, 0x0D, 0x0A, 0x00])
        BinaryFormat.append(Int32(0), to: &bytes)  // no flags
        BinaryFormat.append(Int32(0), to: &bytes)  // no header extension
    }

    /// Bytes written so far.
    package var byteCount: Int { bytes.count }

    /// Starts a row; exactly `fieldCount` values have to follow.
    package mutating func beginRow(fieldCount: Int) {
        precondition(missingFieldCount == 0, "the row before misses fields")
        precondition(fieldCount > 0 && fieldCount <= 1600, "a table has 1 to 1600 columns")
        missingFieldCount = fieldCount
        rowCount += 1
        BinaryFormat.append(Int16(fieldCount), to: &bytes)
    }

    /// Appends a whole row of these four types at once: fan-outs write millions of them.
    package mutating func appendRow(int64 first: Int64, int64 second: Int64, int32 third: Int32, int16 fourth: Int16) {
        precondition(missingFieldCount == 0, "the row before misses fields")
        rowCount += 1
        // Field count, and a length of four bytes in front of each value.
        bytes.append(addingCapacity: 2 + (4 + 8) + (4 + 8) + (4 + 4) + (4 + 2)) { output in
            BinaryFormat.append(Int16(4), to: &output)
            BinaryFormat.append(Int32(8), to: &output)
            BinaryFormat.append(first, to: &output)
            BinaryFormat.append(Int32(8), to: &output)
            BinaryFormat.append(second, to: &output)
            BinaryFormat.append(Int32(4), to: &output)
            BinaryFormat.append(third, to: &output)
            BinaryFormat.append(Int32(2), to: &output)
            BinaryFormat.append(fourth, to: &output)
        }
    }

    package mutating func append(int16 value: Int16) {
        beginField(byteCount: 2)
        BinaryFormat.append(value, to: &bytes)
    }

    package mutating func append(int32 value: Int32) {
        beginField(byteCount: 4)
        BinaryFormat.append(value, to: &bytes)
    }

    package mutating func append(int64 value: Int64) {
        beginField(byteCount: 8)
        BinaryFormat.append(value, to: &bytes)
    }

    /// A `bytea`, or a `text` in UTF-8.
    package mutating func append(bytes value: [UInt8]) {
        beginField(byteCount: Int32(value.count))
        bytes.append(contentsOf: value)
    }

    /// A `timestamptz`.
    package mutating func append(microsecondsSince1970 value: Int64) {
        append(int64: BinaryFormat.postgreSQLTime(microsecondsSince1970: value))
    }

    package mutating func appendNull() { beginField(byteCount: BinaryFormat.nullLength) }

    /// Ends the data and hands it over. The buffer is not to be used afterwards.
    package mutating func finish() -> [UInt8] {
        precondition(missingFieldCount == 0, "the last row misses fields")
        BinaryFormat.append(Int16(-1), to: &bytes)
        let finished = bytes
        bytes = []
        return finished
    }

    private mutating func beginField(byteCount: Int32) {
        precondition(missingFieldCount > 0, "more fields than the row was begun with")
        missingFieldCount -= 1
        BinaryFormat.append(byteCount, to: &bytes)
    }
}
