import Observability

/// How a worker comes, loses its place, and goes.
extension FanOutWorker {
    /// Registers, with a journal when there can be one.
    func register() async {
        var backOff = BackOff(limits)
        while worker == nil, !isStopping {
            if journal == nil { journal = journals?.begin() }
            do {
                let beforeRegistration = clock.instant()
                worker = try await queue.registerWorker(node: node, journal: journal?.id)
                lease.extendedAt = beforeRegistration
            } catch {
                logger.log(.warning, "The worker could not be registered yet", [.reason: "\(error)"])
                await pause(backOff.next())
            }
        }
    }

    /// Waits before something is tried again; a worker that stops waits no longer.
    func pause(_ duration: Duration) async {
        guard !isStopping else { return }
        let wakeUp = WakeUp()
        pauseCount += 1
        let number = pauseCount
        pauses[number] = wakeUp
        await wakeUp.sleep { [clock] in await clock.sleep(duration) }
        pauses[number] = nil
    }

    func endPauses() {
        for wakeUp in pauses.values { wakeUp.call() }
    }

    /// Another daemon took the worker for dead: nothing of its chunks may be sent any more, and its journal says nothing new.
    func loseLease() async {
        logger.log(.error, "The lease was lost; its chunks belong to another daemon")
        jobs.cancelAll(.leaseExpired)
        worker = nil
        journal?.remove()
        journal = nil
        await register()
    }

    /// What was never sent goes to other workers first; with the lease alone they would take a start for one that was sent.
    func leave() async {
        if let worker {
            do {
                try await queue.giveBackChunks(of: worker, except: [])
                try await queue.releaseLease(of: worker)
            } catch {
                // With a journal, the next daemon here settles what is left.
                return logger.log(.warning, "The lease was not given back; it runs out by itself", [.reason: "\(error)"])
            }
        }
        journal?.remove()
    }
}
