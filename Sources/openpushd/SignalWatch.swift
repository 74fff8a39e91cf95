import Glibc
import Networking

/// Watches for the signals that stop the daemon, on a loop.
enum SignalWatch {
    /// Starts to watch; the source must be kept as long as signals matter.
    static func start(on loop: EventLoop, _ handler: @escaping @Sendable (Int32) -> Void) async throws -> SignalSource {
        let source = try SignalSource([SIGTERM, SIGINT], loop: loop, handler: handler)
        let result: Result<Void, SystemError> = await withCheckedContinuation { continuation in
            loop.perform {
                do throws(SystemError) {
                    try source.start()
                    continuation.resume(returning: .success(()))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        try result.get()
        return source
    }
}
