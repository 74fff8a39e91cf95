import Foundation
import HTTP
import PostgreSQL
import Security
import TestSupport
import Testing

/// What the description's examples of users speak of.
func prepareUsers(on gateway: Deployment, _ key: ES256PrivateKey) async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("openpushd-identity-\(UUID().uuidString).pem")
    try Data(key.publicKey.pem).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    #expect(try await gateway.control("app", "set", gateway.app.id, "--identity-key-file", file.path).status == 0)
    // More devices of one name than one user can have.
    let connection = try await gateway.database.connect()
    try await connection.execute(
        """
        insert into device (app_id, push_token, environment, external_id, public_id)
        select app_id, convert_to('crowd ' || n, 'UTF8'), 0, 'crowd',
            case when n = 0 then 'c0de0000-0000-4000-8000-000000000000' else gen_random_uuid() end
        from app cross join generate_series(0, 100) as n
        where app.public_id = '\(gateway.app.id)';
        insert into device_alias (app_id, label, identifier, device_id)
        select app_id, label, 'crowd', device_id
        from device cross join (values ('external_id'), ('onesignal_id')) as name (label)
        where external_id = 'crowd'
            and (label = 'external_id' or public_id = 'c0de0000-0000-4000-8000-000000000000');
        """)
    await connection.close()
}

extension Deployment {
    /// A token as an app's backend makes it for one of its users.
    static func identityToken(of user: String, app: String, key: ES256PrivateKey, seconds: Int = 600) throws -> String {
        let expiry = Int(Date().timeIntervalSince1970) + seconds
        let parts = [
            #"{"alg":"ES256","typ":"JWT"}"#, #"{"iss":"\#(app)","exp":\#(expiry),"identity":{"external_id":"\#(user)"}}"#,
        ]
        let signed = parts.map { Base64.encodeURL(Array($0.utf8)) }.joined(separator: ".")
        return "\(signed).\(Base64.encodeURL(try key.sign(Array(signed.utf8))))"
    }

    /// A call of an app that proves who its user is.
    func send(_ method: String, _ path: String, token: String, clientKey: String, body: String) async throws -> Answer {
        let headers: HTTPHeaders = ["authorization": "Bearer \(token)", "x-op-api-key": clientKey]
        let answer = try await client().send(method, path, headers: headers, body: body)
        return Answer(status: answer.status, headers: answer.headers, text: answer.text)
    }
}
