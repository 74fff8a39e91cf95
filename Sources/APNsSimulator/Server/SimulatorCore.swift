import HTTP
import Security
import Synchronization

/// What the connections of one simulator share.
final class SimulatorCore: Sendable {
    let keys = KeyRing()
    let devices = DeviceRegistry()
    let channels = ChannelRegistry()
    let rules = RuleBook()
    let log = RequestLog()
    let google: GoogleService
    /// Shows the certificate that the simulator's own authority signed.
    let tls: TLSContext
    /// Shows one that another authority signed.
    let foreignTLS: TLSContext
    private let clock: @Sendable () -> Int64
    private let currentSettings: Mutex<SimulatorSettings>
    private let connections = Mutex<[Int: PushConnection]>([:])
    private let lastConnection = Atomic(0)

    /// - Parameter clock: milliseconds since 1970.
    init(tls: TLSContext, foreignTLS: TLSContext, settings: SimulatorSettings, clock: @escaping @Sendable () -> Int64) {
        self.tls = tls
        self.foreignTLS = foreignTLS
        self.clock = clock
        google = GoogleService(nowSeconds: { clock() / 1000 })
        currentSettings = Mutex(settings)
    }

    var settings: SimulatorSettings { currentSettings.withLock { $0 } }

    /// Changes the settings, and answers them before and after.
    func changeSettings(
        _ change: (inout SimulatorSettings) throws -> Void
    ) rethrows -> (old: SimulatorSettings, new: SimulatorSettings) {
        try currentSettings.withLock { settings in
            let old = settings
            try change(&settings)
            return (old, settings)
        }
    }

    /// Milliseconds since 1970, with the offset of the settings.
    func now(_ settings: SimulatorSettings) -> Int64 { clock() + settings.clockOffsetSeconds * 1000 }

    /// A number for a new connection, from 1.
    func nextConnectionNumber() -> Int { lastConnection.add(1, ordering: .relaxed).newValue }

    func add(_ connection: PushConnection) { connections.withLock { $0[connection.number] = connection } }

    func remove(_ connection: PushConnection) { connections.withLock { $0[connection.number] = nil } }

    /// The open connections, oldest first.
    var openConnections: [PushConnection] {
        connections.withLock { $0.values.sorted { $0.number < $1.number } }
    }
}
