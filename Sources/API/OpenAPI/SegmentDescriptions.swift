import Gateway

/// Stored audiences, in both shapes.
enum SegmentDescriptions {
    private static let unknown = Refusal.notFound("There is no segment of this id.")
    private static let exists = ErrorExample("exists", .conflict("A segment of this name or id exists."))
    private static let isUnknown = ErrorExample("unknown", unknown, path: ["segment": Example.nothing])

    private static let filters = #""filters":[{"field":"language","relation":"=","value":"de"}]"#
    private static let note = Schema.text

    private static let newBody = Schema.object(
        [("name", .name), ("filters", ActivityDescriptions.filters)], optional: [("description", note), ("id", .uuid)])
    private static let changeBody = Schema.object(
        [], optional: [("name", .name), ("filters", ActivityDescriptions.filters), ("description", note)])
    private static let identifier = Schema.object([("id", .uuid)])
    private static let success = Schema.object([("success", .literals("true")), ("id", .uuid)])

    private static func creation(name: String, _ answer: Schema) -> RouteDescription {
        RouteDescription(
            area: .segments, summary: "Make a segment",
            body: .init(schema: newBody, examples: [.init("german", 201, #"{"name":"\#(name)",\#(filters)}"#)]),
            answers: [.init(201, "It is stored.", .json(answer))],
            errors: [
                .field("name", .missing, body: "{\(filters)}"),
                .field(
                    "filters[0]", .filter(.unknownField("colour")), body: #"{"name":"Red","filters":[{"field":"colour"}]}"#),
                exists,
            ])
    }

    private static func change(name: String, _ answer: Schema) -> RouteDescription {
        RouteDescription(
            area: .segments, summary: "Change a segment; what is not named stays",
            body: .init(
                schema: changeBody,
                examples: [.init("rename", 200, #"{"name":"\#(name)"}"#), .init("refilter", 200, "{\(filters)}")]),
            answers: [.init(200, "It is changed, for starts to come.", .json(answer))],
            errors: [
                .field("name", .blank, body: #"{"name":" "}"#), isUnknown,
                ErrorExample("exists", exists.refusal, body: #"{"name":"Taken"}"#),
            ])
    }

    private static let entry: [(String, Schema)] = [
        ("id", .uuid), ("name", .name), ("description", note), ("created_at", .date), ("updated_at", .date),
    ]
    private static let limit = RouteDescription.QueryParameter(
        "limit", "most entries of the page", .integer(SegmentRoutes.limits), example: "20")
    private static let wrongLimit = ErrorExample.field("limit", .notOneOf("1 to 300"), query: [("limit", "0")])

    // MARK: Under /v1

    static let create = creation(name: "German", identifier)
    static let change = change(name: "Germans", identifier)
    static let list = RouteDescription(
        area: .segments, summary: "Segments by the time they were made",
        query: [limit, ReadingDescriptions.cursor(of: .segments)],
        answers: [
            .init(
                200, "A page.",
                .json(
                    .object([
                        ("segments", .list(of: .object(entry))), ("total", .count), ("next_cursor", .nullable(.text)),
                    ])))
        ],
        errors: [wrongLimit, ReadingDescriptions.wrongCursor])
    static let read = RouteDescription(
        area: .segments, summary: "One segment, and how many devices match it now",
        answers: [
            .init(
                200, "Counted for this request.",
                .json(.object(entry + [("filters", ActivityDescriptions.filters), ("devices", .count)])))
        ], errors: [isUnknown])
    static let remove = RouteDescription(
        area: .segments, summary: "Remove a segment; starts that were accepted keep it",
        answers: [.init(204, "It is gone.", .none)], errors: [isUnknown])

    // MARK: In OneSignal's shape

    static let createOfApp = creation(name: "Deutsch", success)
    static let changeOfApp = change(name: "Deutsche", success)
    static let listOfApp = RouteDescription(
        area: .segments, summary: "Segments in OneSignal's shape",
        query: [
            limit,
            .init("offset", "segments to pass over", .integer(SegmentRoutes.offsets), example: "0"),
        ],
        answers: [
            .init(
                200, "A page.",
                .json(
                    .object([
                        ("total_count", .count), ("offset", .count), ("limit", .count),
                        (
                            "segments",
                            .list(
                                of: .object([
                                    ("id", .uuid), ("name", .name), ("created_at", .date), ("updated_at", .date),
                                    ("app_id", .uuid), ("read_only", .literals("false")), ("is_active", .literals("true")),
                                ]))
                        ),
                    ])))
        ], errors: [wrongLimit])
    static let readOfApp = RouteDescription(
        area: .segments, summary: "One segment in OneSignal's shape",
        answers: [
            .init(
                200, "Counted for this request.",
                .json(
                    .object([
                        ("subscriber_count", .count),
                        (
                            "payload",
                            .object([
                                ("id", .uuid), ("name", .name), ("description", note), ("created_at", .seconds),
                                ("source", .choice("custom")), ("filters", ActivityDescriptions.filters),
                            ])
                        ),
                    ])))
        ], errors: [isUnknown])
    static let removeOfApp = RouteDescription(
        area: .segments, summary: "Remove a segment; starts that were accepted keep it",
        answers: [.init(200, "It is gone.", .json(.object([("success", .literals("true"))])))], errors: [isUnknown])
}
