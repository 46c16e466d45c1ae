/// The members of channels, and of what was sent on them.
extension MemberTexts {
  /// See `table`.
  static let channelsTable = #"""
    ChannelAnalytics.channels | The channels, most conversations first. |
    Channels.channels | The channels that the gateway knows. |
    VisitorExport.channels | The visitor on channels such as LINE. |
    Channel.name | The name of the channel. | line
    webhook_path | The path of the channel's webhook. | /api/v1/channels/line/pk_5f1c9a/webhook
    webhook_url | For the platform. | https://a.example/api/v1/channels/line/pk_5f1c9a/webhook
    signing_credential | The name of the credential that checks signatures. | channel_secret
    sending_credential | The name of the credential that sends. | channel_access_token
    receives | Whether the credential that checks signatures is stored. | true
    sends | Whether the credential that sends is stored. | true
    capabilities | What the channel can show. |
    typing | Whether the person sees that an operator writes. | false
    read_marks | Whether the platform tells what the person has read. | false
    Channel.buttons | Whether buttons are shown. | true
    attachments | Whether files are sent. | false
    text_characters | The longest message, in UTF-16 code units; a longer one is split. | 5000
    ChannelTrial.works | Whether the platform has answered. | true
    account | The name of the account; null: no answer. | Tidewater Shop
    ChannelTrial.detail | What happened. | The account answers.
    ChannelQuota.quota | What may be sent in this month; null: not known. |
    ChannelQuota.used | Messages that were sent in this month. | 12
    ChannelQuota.limit | Messages that may be sent in a month; null: any number. | 200
    ChannelQuota.detail | Why it is not known; empty: it is, or there is none. | LINE answered 401
    ChannelDeliveries.channel | The channel of the conversation. | line
    is_blocked | Whether the person has blocked the account. | false
    ChannelDeliveries.problem | Why the last attempt failed; null: none waits. | LINE answered 500
    ChannelDeliveries.deliveries | The messages that were to be sent. |
    ChannelDelivery.message | The id of the message. |
    ChannelDelivery.status | What became of it; unknown: the person may have it. | sent
    ChannelDelivery.reason | Why it has failed, or may have. | The person has blocked the account.
    ChannelDelivery.at | When that was known; null: it waits. |
    """#
}
