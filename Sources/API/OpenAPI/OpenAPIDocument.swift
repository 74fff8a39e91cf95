import Gateway
import HTTP
import JSON

/// The OpenAPI 3.1 description of every route.
///
/// Each route has a `RouteDescription`, which the compiler demands; the rest follows from the route. Examples of requests carry what
/// a test needs to send them: `x-status`, the status of the answer, and `x-request`, what to change of a request that works.
enum OpenAPIDocument {
    /// The document, made once.
    static let bytes: [UInt8] = {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("openapi", "3.1.0")
        writer.key("info")
        writer.beginObject()
        writer.member("title", "openpushd")
        writer.member("version", "1")
        writer.member("description", about)
        writer.endObject()
        writer.key("tags")
        writer.beginArray()
        for area in RouteDescription.Area.allCases {
            writer.beginObject()
            writer.member("name", area.rawValue)
            writer.endObject()
        }
        writer.endArray()
        writePaths(to: &writer)
        writeComponents(to: &writer)
        writer.endObject()
        return writer.bytes
    }()

    private static let about =
        "Push gateway for iOS Live Activities. Unknown members of bodies, but on the wires of OneSignal's devices and of Customer.io, and "
        + "unknown parameters of routes that have some are refused; "
        + "HEAD is answered where GET is; another method is 405 with Allow. Errors of HTTP itself (400, 408, 413, 414, 417, 431, 501, "
        + "503, 505) reach no route and have the shape Errors. Requests that a database that is away cannot answer get 503 within 2 s."

    private static func writePaths(to writer: inout JSONWriter) {
        var paths: [(path: String, routes: [Route])] = []
        for route in Route.allCases {
            let path = route.template
            if let index = paths.firstIndex(where: { $0.path == path }) {
                paths[index].routes.append(route)
            } else {
                paths.append((path, [route]))
            }
        }
        writer.key("paths")
        writer.beginObject()
        for (path, routes) in paths {
            writer.key(path)
            writer.beginObject()
            for route in routes {
                writer.key(route.method.lowercased())
                OperationWriter(route: route).write(to: &writer)
            }
            writer.endObject()
        }
        writer.endObject()
    }

    private static func writeComponents(to writer: inout JSONWriter) {
        writer.key("components")
        writer.beginObject()
        writer.key("securitySchemes")
        writer.beginObject()
        for (name, header, text) in [
            ("authorization", "Authorization", "the key behind Key, Bearer or Basic, or bare; never base64"),
            ("header", "X-OP-API-Key", "the key"),
        ] {
            writer.key(name)
            writer.beginObject()
            writer.member("type", "apiKey")
            writer.member("in", "header")
            writer.member("name", header)
            writer.member("description", text)
            writer.endObject()
        }
        writer.key("workspace")
        writer.beginObject()
        writer.member("type", "http")
        writer.member("scheme", "basic")
        writer.member("description", "the app_id and a rest key, in base64; a header names the app_id again")
        writer.endObject()
        writer.key("identity")
        writer.beginObject()
        writer.member("type", "http")
        writer.member("scheme", "bearer")
        writer.member("bearerFormat", "JWT")
        writer.member("description", "a token (ES256) by which the app's backend says who a user is")
        writer.endObject()
        writer.endObject()
        writer.key("schemas")
        writer.beginObject()
        for (name, schema) in SharedSchemas.all {
            writer.key(name)
            writer.raw(schema.json.utf8)
        }
        writer.endObject()
        writer.endObject()
    }
}

extension Route {
    /// The path as OpenAPI writes it, such as `/v1/notifications/{notification}`.
    var template: String {
        "/" + pattern.map { $0.hasPrefix(":") ? "{\($0.dropFirst())}" : $0 }.joined(separator: "/")
    }
}
