import Gateway
import Networking
import Observability

extension PushPool {
    /// Takes nothing new and hands back what waits as not sent. The pool cannot be used afterwards.
    func stopSubmitting() {
        guard !isDraining else { return }
        isDraining = true
        lanes.forEach { $0.completeWaiting(.notSent) }
        lanes.removeFinished()
        connectTask?.task.cancel()
    }

    /// Stops submitting and waits for what is on the wire. After the timeout what is still there is unknown.
    func drain(timeout: Duration) async {
        stopSubmitting()
        let timer = loop.schedule(after: timeout) { self.assumeIsolated { $0.endDrain() } }
        await withCheckedContinuation { waiter in
            drainWaiters.append(waiter)
            endDrainIfDone()
        }
        loop.cancel(timer)
    }

    /// Ends the drain once no push is on the wire.
    func endDrainIfDone() {
        if inFlightCount == 0 { endDrain() }
    }

    private func endDrain() {
        for connection in connections {
            connection.close { (push, mayHaveLeft) in
                lanes.lane(push.lane).complete(Int(push.index), mayHaveLeft ? .unknown : .notSent)
            }
            metrics.connections.add(-1)
        }
        connections = []
        if let timer = tickTimer { loop.cancel(timer.id) }
        tickTimer = nil
        let waiting = drainWaiters
        drainWaiters = []
        for waiter in waiting { waiter.resume() }
    }
}
