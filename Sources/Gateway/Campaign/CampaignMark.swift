import JSON

/// What MoEngage's SDK needs to know of a push, beside its content.
///
/// Source: what its sample app shows of the objects as they come to the device.
package struct CampaignMark: Hashable, Sendable {
    /// The member that holds it, in the attributes and in the content state.
    package static let name = "moengage"
    /// What the SDK calls the kind of campaign.
    package static let deliveryType = "Broadcast Live Activity"

    package let instanceID: String
    /// On a start only.
    package let start: Start?

    /// What goes into the attributes.
    package struct Start: Hashable, Sendable {
        package let campaign: UUID
        package let campaignName: String
        package let attributesType: String
        /// The workspace.
        package let application: UUID
        /// Puts them together.
        package init(campaign: UUID, campaignName: String, attributesType: String, application: UUID) {
            self.campaign = campaign
            self.campaignName = campaignName
            self.attributesType = attributesType
            self.application = application
        }
    }

    /// Puts them together.
    package init(instanceID: String, start: Start?) {
        self.instanceID = instanceID
        self.start = start
    }

    func writeState(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("moe_instance_id", instanceID)
        writer.endObject()
    }
}

extension CampaignMark.Start {
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("cid", "\(campaign)")
        writer.member("moe_campaign_name", campaignName)
        writer.member("moe_delivery_type", CampaignMark.deliveryType)
        writer.member("moe_attribute_type", attributesType)
        writer.member("app_id", "\(application)")
        writer.endObject()
    }
}
