/// The operations of channels.
extension OperationTexts {
  static let channels: [String: String] = [
    "post_channels_channel_key_webhook": """
    For platforms such as LINE, not for clients. The header with the platform's signature is \
    checked, the events are stored, each once by its id, and the answer comes before they are \
    processed. A platform repeats what is not answered with 200.
    """,
    "get_admin_channels": """
    The channels that the gateway knows, the address of each channel's webhook, and whether the \
    credentials that it needs are stored. `receives` and `sends` do not say that they are right.
    """,
    "post_admin_channels_channel_test": """
    Requests the account's name with the stored credential. A fault of the platform is the \
    result, with status 200.
    """,
    "get_admin_channels_channel_quota": """
    Requests what is used of the messages that the account may send in this month, with the \
    stored credential. A fault of the platform is the result, with status 200 and its words in \
    `detail`.
    """,
    "post_admin_live_chat_conversations_id_deliveries_message_send_again": """
    For messages with the status `failed` or `unknown`. The message is `pending` then, and comes \
    before those that still wait. It keeps its retry key, so the platform takes it once; one \
    without such keys, such as Telegram, may get an `unknown` one twice. A second call changes \
    nothing until it has failed again; 409 `is_delivered`: the platform has it.
    """,
    "get_admin_live_chat_conversations_id_deliveries": """
    Whether messages of operators and bots have reached a channel's platform. A platform does not \
    tell whether the person has read them.
    """,
  ]
}
