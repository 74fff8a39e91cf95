import Gateway
import Security

/// Where a page of a list ended, as text that callers hand back and do not look into.
///
/// It names a place in the list's order, not a number of rows: what is added or removed between two pages makes the next neither
/// skip nor repeat anything else.
struct Cursor: Equatable {
    /// The lists that have pages; the number marks the list's cursors.
    enum List: UInt8 {
        case segments = 1
        case deliveries = 2
        case activities = 3
        case timeline = 4
        case notifications = 5
        case instances = 6
        case instanceDeliveries = 7

        /// Words of the list's place.
        var wordCount: Int {
            switch self {
            case .segments: 3
            case .instances, .instanceDeliveries: 2
            case .deliveries, .activities, .timeline, .notifications: 1
            }
        }
    }

    let list: List
    let words: [UInt64]

    init(list: List, words: [UInt64]) {
        precondition(words.count == list.wordCount, "a cursor of its list")
        self.list = list
        self.words = words
    }

    /// Nil for what is no cursor of that list.
    init?(_ text: String, of list: List) {
        guard let bytes = Hexadecimal.decode(text), bytes.first == list.rawValue, bytes.count == 1 + 8 * list.wordCount else {
            return nil
        }
        self.list = list
        words = (0..<list.wordCount).map { word in
            bytes[(1 + 8 * word)..<(9 + 8 * word)].reduce(0) { $0 << 8 | UInt64($1) }
        }
        guard list != .segments || words[0] <= Self.lastMicrosecond else { return nil }
    }

    /// The end of the year 9999, in microseconds since 1970: PostgreSQL's moments end some time behind it.
    private static let lastMicrosecond: UInt64 = 253_402_300_799_999_999

    var text: String {
        var bytes = [list.rawValue]
        for word in words { bytes += (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * UInt64($0))) } }
        return Hexadecimal.encode(bytes)
    }
}
