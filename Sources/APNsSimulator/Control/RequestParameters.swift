import HTTP
import Security

/// The query of a control request that reads.
struct RequestParameters {
    var query = RequestQuery()
    var limit = ControlHandler.defaultLimit
    /// How long to wait for `count` requests, in milliseconds; nil does not wait.
    var waitMilliseconds: Int?
    var count = 1

    init(_ request: HTTPRequest) throws(ControlError) {
        guard let items = request.queryItems else { throw ControlError("the query is not percent-encoded") }
        for (name, value) in items {
            switch name {
            case "since": query.since = try RequestParameters.integer(name, value, in: 0...Int.max - 1)
            case "limit": limit = try RequestParameters.integer(name, value, in: 0...ControlHandler.largestLimit)
            case "count": count = try RequestParameters.integer(name, value, in: 1...Int.max)
            case "wait_ms":
                waitMilliseconds = try RequestParameters.integer(name, value, in: 0...ControlHandler.longestWaitMilliseconds)
            case "settled": query.isSettled = value == "true"
            case "token":
                guard let token = Hexadecimal.decode(value), !token.isEmpty else {
                    throw ControlError("token is not hexadecimal")
                }
                query.token = token
            case "environment": query.environment = try RequestParameters.choice(name, value)
            case "operation": query.operation = try RequestParameters.choice(name, value)
            case "event": query.event = try RequestParameters.choice(name, value)
            default: throw ControlError("\(name) is not known")
            }
        }
    }

    private static func integer(_ name: String, _ text: String, in range: ClosedRange<Int>) throws(ControlError) -> Int {
        guard let number = Int(text), range.contains(number) else { throw ControlError("\(name) is not an integer in \(range)") }
        return number
    }

    private static func choice<Choice: RawRepresentable>(_ name: String, _ text: String) throws(ControlError) -> Choice
    where Choice.RawValue == String {
        guard let choice = Choice(rawValue: text) else { throw ControlError("\(name) cannot be \(text)") }
        return choice
    }
}
