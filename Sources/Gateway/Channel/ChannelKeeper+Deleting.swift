import Observability

extension ChannelKeeper {
    /// Whether Apple can be asked for more at the moment.
    func deleteLeaving(in place: ChannelPlace) async throws(StorageError) -> Bool {
        // The claim outlasts the last request that begins before.
        let end = clock.instant() + .seconds(Self.requestSeconds) - Self.requestTimeout
        let leaving = try await directory.claimLeavingChannels(
            of: place, limit: Self.deletionCount, seconds: Self.requestSeconds)
        var refusalCount = 0
        for (index, channel) in leaving.enumerated() {
            guard clock.instant() < end else {
                try await postpone(leaving[index...], seconds: 0)
                return true
            }
            let result = await service.deleteChannel(
                channel.identifier, of: place.application, in: place.environment, timeout: Self.requestTimeout)
            switch result {
            // Without the capability Apple has deleted all channels.
            case .done, .refused(.notEnabled), .refused(.unknownChannel):
                metrics.deleted.add()
                try await directory.channelIsGone(request: channel.request)
                refusalCount = 0
            case .refused(.other(let reason)):
                // It may be about this channel only: others are tried, but not all of them in vain, and channels may be made all the same.
                refusalCount += 1
                metrics.failed.add()
                logger.log(.error, "A broadcast channel could not be deleted", fields(place, reason.name))
                let isSeries = refusalCount == Self.deletionRefusalCount
                let refused = isSeries ? leaving[index...] : leaving[index...index]
                try await postpone(refused, seconds: ChannelRefusal.other(reason).pauseSeconds)
                if isSeries { return true }
            case .refused(let refusal):
                note("A broadcast channel could not be deleted", refusal, in: place)
                try await postpone(leaving[index...], seconds: refusal.pauseSeconds)
                return false
            case .unclear(let reason):
                metrics.failed.add()
                logger.log(
                    .warning, "It is not known whether a broadcast channel was deleted; it is tried again", fields(place, reason))
                return false
            }
        }
        return true
    }

    private func postpone(_ channels: ArraySlice<LeavingChannel>, seconds: Int) async throws(StorageError) {
        for channel in channels { try await directory.postponeDeletion(request: channel.request, seconds: seconds) }
    }
}
