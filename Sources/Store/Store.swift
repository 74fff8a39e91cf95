import Gateway
package import PostgreSQL
package import Security
import Synchronization

/// Everything that lasts, in PostgreSQL. One on each event loop, over that loop's connections.
///
/// It implements the ports of Gateway, each in a file of its own. SQL is written here and nowhere else.
package struct Store: Sendable {
    /// How often a transaction that lost against another one is repeated before the caller hears `.unavailable`.
    static let conflictRetryLimit = 5

    let pool: DatabasePool
    let sealingKey: SealingKey
    let setAside: SetAsideFanOuts
    /// Behind which open fan-out an idle worker looks for finished ones next.
    let finishPlace = FinishPlace()

    /// - Parameters:
    ///   - pool: the connections of the caller's event loop.
    ///   - sealingKey: made of the master key; seals signing keys and provider tokens.
    ///   - setAside: fan-outs that all stores of this process pass over.
    package init(pool: DatabasePool, sealingKey: SealingKey, setAside: SetAsideFanOuts = SetAsideFanOuts()) {
        self.pool = pool
        self.sealingKey = sealingKey
        self.setAside = setAside
    }

    /// One statement, one round trip, one transaction.
    @discardableResult
    func query(
        _ statement: Statement, _ parameters: [Parameter] = [], deadline: Duration? = nil, isUrgent: Bool = false
    ) async throws(StorageError) -> QueryResult {
        try await run([StatementCall(statement, parameters)], deadline: deadline, isUrgent: isUrgent)[0]
    }

    /// Several statements in one round trip and one transaction; each sees what others committed before it began.
    func run(
        _ calls: [StatementCall], deadline: Duration? = nil, isUrgent: Bool = false
    ) async throws(StorageError) -> [QueryResult] {
        var failureCount = 0
        while true {
            do {
                return try await pool.run(calls, deadline: deadline, isUrgent: isUrgent)
            } catch {
                failureCount += 1
                guard error.isTransactionConflict, failureCount <= Self.conflictRetryLimit else { throw StorageError(error) }
            }
        }
    }

    /// `body` between BEGIN and COMMIT; repeated from its start when it lost against another transaction.
    func transaction<Value>(_ body: (DatabaseConnection) async throws -> Value) async throws(StorageError) -> Value {
        do {
            return try await pool.transaction(retryLimit: Self.conflictRetryLimit, body)
        } catch let error as StorageError {
            throw error
        } catch let error as DatabaseError {
            throw StorageError(error)
        } catch {
            throw .unavailable
        }
    }
}

extension StorageError {
    init(_ error: DatabaseError) {
        switch error {
        case .unavailable, .readOnly: self = .unavailable
        case .server where error.isTransactionConflict: self = .unavailable
        case .server(let sqlState, _, _): self = .refused(sqlState: sqlState)
        }
    }
}

/// Every fixed statement, for the test that lets PostgreSQL judge them.
package enum StoreStatements {
    package static let all =
        AbandonedChunkStatements.all + AdministrationStatements.all + BroadcastStatements.all + CampaignStatements.all
        + ClickStatements.all + CarvingStatements.all
        + ChunkClaimStatements.all + NextWorkStatements.all + CountingStatements.all + InstanceStatements.all
        + ProfileNameStatements.all
        + InstanceReadingStatements.all
        + NotificationTypeStatements.all + ChunkRecordStatements.all + DeliveryReaderStatements.all
        + DeviceReaderStatements.all + DeviceStatements.all + FanOutStatements.all + MaintenanceStatements.all
        + PartitionStatements.all + PendingStateStatements.all + PrincipalStatements.all + ProviderTokenStatements.all
        + AccessTokenStatements.all + ChannelStatements.all + ChannelListingStatements.all + ActivityChannelStatements.all
        + RateLimitStatements.all + ReachabilityStatements.all + ReaderStatements.all + ResendStatements.all
        + RetentionStatements.all + SegmentStatements.all + StartStatements.all + StartTokenStatements.all
        + StatisticsStatements.all + UpdateStatements.all + UpdateTokenStatements.all + UserStatements.all + WorkerStatements.all
}

/// Where a walk through the open fan-outs goes on; at the end it begins anew.
final class FinishPlace: Sendable {
    private let place = Atomic<Int64>(0)
    var value: Int64 { place.load(ordering: .relaxed) }
    func moved(to next: Int64?) { place.store(next ?? 0, ordering: .relaxed) }
}
