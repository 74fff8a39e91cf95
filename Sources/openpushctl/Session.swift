import Configuration
import Gateway
import Networking
import Observability
import PostgreSQL
import Security
import Store
import Synchronization

/// What a command works with: the configuration and the database, on an event loop of its own.
struct Session {
    /// How long a command waits for a connection to the database: a person is at the other end, not a request.
    private static let patience: Duration = .seconds(10)

    let configuration: AdministrationConfiguration
    let loop: EventLoop
    let store: Store

    /// Opens a session, runs the command in it, and closes it.
    static func run(
        needs: Set<AdministrationConfiguration.Need> = [], _ body: (Session) async throws -> Report
    ) async throws -> Report {
        let configuration: AdministrationConfiguration
        let options: DatabaseOptions
        do {
            configuration = try AdministrationConfiguration(environment: ProcessEnvironment.variables(), needs: needs)
            options = try DatabaseOptions(url: configuration.databaseURL.exposed)
        } catch let error as InvalidDatabaseURL {
            throw CommandFailure.configuration("OPENPUSH_DATABASE_URL: \(error)")
        } catch {
            throw CommandFailure.configuration("\(error)")
        }
        Signals.ignoreBrokenPipes()
        let loop = try EventLoop.start(name: "openpushctl")
        defer { loop.stop() }
        let failure = Mutex<String?>(nil)
        let pool = DatabasePool(loop: loop, options: options, size: 1, acquireTimeout: patience) { event in
            if case .connectingFailed(let reason, _) = event { failure.withLock { $0 = reason } }
        }
        let store = Store(pool: pool, sealingKey: configuration.masterKey?.exposed ?? unusedSealingKey())
        do {
            let report = try await body(Session(configuration: configuration, loop: loop, store: store))
            await pool.close()
            return report
        } catch let error as StorageError {
            await pool.close()
            throw CommandFailure(error, reason: failure.withLock { $0 })
        }
    }

    /// For commands that neither seal nor open anything: a key that nobody keeps, so that a mistake could not go unseen.
    private static func unusedSealingKey() -> SealingKey {
        guard let key = SealingKey(bytes: RandomBytes.generate(count: 32)) else {
            preconditionFailure("32 bytes are a sealing key")
        }
        return key
    }

    /// The app of `--app`.
    func application(_ publicID: UUID) async throws -> Application {
        guard let application = try await store.application(publicID) else {
            throw CommandFailure.data("there is no app \(publicID); openpushctl app list shows all")
        }
        return application
    }
}
