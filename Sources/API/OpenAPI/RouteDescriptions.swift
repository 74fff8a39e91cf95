extension Route {
    /// What the OpenAPI description says of it. A new route does not compile until it is here.
    var description: RouteDescription {
        switch self {
        case .startActivity: ActivityDescriptions.start
        case .pushActivity: ActivityDescriptions.push
        case .createAppSegment: SegmentDescriptions.createOfApp
        case .listAppSegments: SegmentDescriptions.listOfApp
        case .readAppSegment: SegmentDescriptions.readOfApp
        case .changeAppSegment: SegmentDescriptions.changeOfApp
        case .removeAppSegment: SegmentDescriptions.removeOfApp
        case .createSegment: SegmentDescriptions.create
        case .listSegments: SegmentDescriptions.list
        case .readSegment: SegmentDescriptions.read
        case .changeSegment: SegmentDescriptions.change
        case .removeSegment: SegmentDescriptions.remove
        case .previewAudience: AudienceDescriptions.preview
        case .countUnsaved: AudienceDescriptions.countUnsaved
        case .registerDevice: DeviceDescriptions.register
        case .setUpdateToken: DeviceDescriptions.setUpdateToken
        case .setStartToken: DeviceDescriptions.setStartToken
        case .removeStartToken: DeviceDescriptions.removeStartToken
        case .recordClick: DeviceDescriptions.recordClick
        case .endActivity: DeviceDescriptions.endActivity
        case .readNotification: ReadingDescriptions.notification
        case .watchNotification: ReadingDescriptions.events
        case .listNotifications: ReadingDescriptions.notifications
        case .readActivity: ReadingDescriptions.activity
        case .listActivities: ReadingDescriptions.activities
        case .listDeliveries: ReadingDescriptions.deliveries
        case .readDevice: DashboardDescriptions.device
        case .listPushes: DashboardDescriptions.pushes
        case .readStatistics: DashboardDescriptions.statistics
        case .readMessage: DashboardDescriptions.message
        case .live: OperationsDescriptions.live
        case .ready: OperationsDescriptions.ready
        case .metrics: OperationsDescriptions.metrics
        case .openAPI: OperationsDescriptions.openAPI
        }
    }
}
