/// A value bound to a statement, sent in PostgreSQL's binary format under an explicit type.
package enum Parameter: Sendable {
    /// SQL NULL of whatever type the statement asks for.
    case null
    case bool(Bool)
    case int16(Int16)
    case int32(Int32)
    case int64(Int64)
    case double(Double)
    /// `text`. A zero byte inside is refused by the server (22021).
    case text(String)
    /// `bytea`
    case bytes([UInt8])
    /// `uuid`: exactly 16 bytes.
    case uuid([UInt8])
    /// `timestamptz`. A value outside PostgreSQL's range (4713 BC to 294276 AD) is refused by the server (22008).
    case timestamp(microsecondsSince1970: Int64)
    /// `jsonb` from JSON text.
    case jsonb([UInt8])
    case int16Array([Int16])
    case int32Array([Int32])
    case int64Array([Int64])
    case textArray([String?])
    case bytesArray([[UInt8]?])
    /// `uuid[]`: 16 bytes each.
    case uuidArray([[UInt8]])
    /// `timestamptz[]` of microseconds since 1970.
    case timestampArray([Int64?])
}

/// A type of PostgreSQL's catalogue by its fixed identifier (src/include/catalog/pg_type.dat).
struct TypeIdentifier: Equatable, Sendable {
    let rawValue: UInt32

    /// Left to the server to infer.
    static let unspecified = TypeIdentifier(rawValue: 0)
    static let bool = TypeIdentifier(rawValue: 16)
    static let bytea = TypeIdentifier(rawValue: 17)
    static let int8 = TypeIdentifier(rawValue: 20)
    static let int2 = TypeIdentifier(rawValue: 21)
    static let int4 = TypeIdentifier(rawValue: 23)
    static let text = TypeIdentifier(rawValue: 25)
    static let float8 = TypeIdentifier(rawValue: 701)
    static let byteaArray = TypeIdentifier(rawValue: 1001)
    static let int2Array = TypeIdentifier(rawValue: 1005)
    static let int4Array = TypeIdentifier(rawValue: 1007)
    static let textArray = TypeIdentifier(rawValue: 1009)
    static let int8Array = TypeIdentifier(rawValue: 1016)
    static let timestamptz = TypeIdentifier(rawValue: 1184)
    static let timestamptzArray = TypeIdentifier(rawValue: 1185)
    static let uuid = TypeIdentifier(rawValue: 2950)
    static let uuidArray = TypeIdentifier(rawValue: 2951)
    static let jsonb = TypeIdentifier(rawValue: 3802)
}

extension Parameter {
    var type: TypeIdentifier {
        switch self {
        case .null: .unspecified
        case .bool: .bool
        case .int16: .int2
        case .int32: .int4
        case .int64: .int8
        case .double: .float8
        case .text: .text
        case .bytes: .bytea
        case .uuid: .uuid
        case .timestamp: .timestamptz
        case .jsonb: .jsonb
        case .int16Array: .int2Array
        case .int32Array: .int4Array
        case .int64Array: .int8Array
        case .textArray: .textArray
        case .bytesArray: .byteaArray
        case .uuidArray: .uuidArray
        case .timestampArray: .timestamptzArray
        }
    }
}
