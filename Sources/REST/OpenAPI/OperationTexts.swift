/// What each operation does beyond its summary, for the OpenAPI document and the page `/api`.
/// A test finds operations without a text and texts without an operation.
enum OperationTexts {
  /// By `operationId`.
  static let descriptions: [String: String] =
    conversations.merging(workspace) { first, _ in first }
    .merging(automation) { first, _ in first }
    .merging(connections) { first, _ in first }
    .merging(login) { first, _ in first }
    .merging(widget) { first, _ in first }
    .merging(watching) { first, _ in first }
    .merging(attachments) { first, _ in first }
    .merging(mail) { first, _ in first }
    .merging(channels) { first, _ in first }
    .merging(analytics) { first, _ in first }

  private static let conversations: [String: String] = [
    "get_admin_live_chat_conversations": """
    A page of the workspace's conversations with the figures that the console shows above them. \
    `status=open` are the waiting and the active ones. The cursor belongs to the filters.
    """,
    "post_admin_live_chat_conversations": """
    Begins a conversation with a visitor of the workspace: an existing one (`visitor.id`), or the \
    one with the id of another system (`external_id`), who is created if unknown. Without either \
    a new visitor is created. It enters the queue with the visitor's first message; a message of \
    an operator assigns it to them. With an Idempotency-Key a repetition gets the same \
    conversation. With an `id` of your own it also continues an attempt whose message failed \
    (200).
    """,
    "get_admin_live_chat_export": """
    Conversations with all their messages as NDJSON (one JSON object in each line), oldest \
    first: a line `conversation`, its lines `message` in the order of their seq, and in the end \
    one line `end`. A response is one page of bounded size; `next_cursor` in its last line gets \
    the next page, and null ends the export. An export that breaks off continues at the last \
    cursor. Conversations that change during the export are as they were when their page was \
    read; deleted ones are missing. The audit log notes each export once, at its first page.
    """,
    "get_admin_live_chat_conversations_id": """
    A conversation with its visitor's profile, assignee, tags, rating and read marks.
    """,
    "patch_admin_live_chat_conversations_id": """
    Sets or removes the title that operators see in lists. Visitors do not see it.
    """,
    "delete_admin_live_chat_conversations_id": """
    Closes the conversation and hides it from lists, searches and its visitor. It is erased after \
    the days of the workspace's retention; until then it can be restored.
    """,
    "post_admin_live_chat_conversations_id_restore": """
    Makes a deleted conversation visible again, with all its messages.
    """,
    "get_admin_live_chat_deleted_conversations": """
    Deleted conversations with the person or key that deleted them, and the time at which each \
    is erased.
    """,
    "get_admin_live_chat_conversations_id_messages": """
    Messages, notes and events of a conversation. `after`, `before` and `around` name a seq and \
    exclude each other; without them the response has the latest messages.
    """,
    "get_admin_live_chat_messages_search": """
    Searches the texts of messages and notes, without regard to case. A request scans 2,000 \
    conversations, so a page may be empty and still have a `next_cursor`.
    """,
    "post_admin_live_chat_conversations_id_messages": """
    Writes a message in the name of the operator, or as a bot with the name of the API key. When \
    the response comes, the message is stored and on its way to everybody who has the \
    conversation open. With an `id` of your own a repetition is answered with 200 and stores \
    nothing twice.
    """,
    "post_admin_live_chat_conversations_id_notes": """
    A note is an entry of the conversation that only operators see.
    """,
    "put_admin_live_chat_conversations_id_tags": """
    The conversation then has these tags and no others. Unknown tags are created.
    """,
    "post_admin_live_chat_conversations_id_read": """
    Marks the conversation as read up to a seq. A mark never moves back.
    """,
    "post_admin_live_chat_conversations_id_claim": """
    Assigns a waiting conversation to the caller. Of two operators one gets it; the other gets \
    409 with the name of the winner.
    """,
    "post_admin_live_chat_next": """
    Assigns the conversation that has waited longest. 404: none waits.
    """,
    "post_admin_live_chat_conversations_id_transfer": """
    Gives the conversation to another operator, to a team, or back to the queue. The reason is a \
    note.
    """,
    "post_admin_live_chat_conversations_id_close": """
    Ends the conversation. Its visitor can rate it and begin another one.
    """,
    "post_admin_live_chat_conversations_id_reopen": """
    Puts a closed conversation back into the queue.
    """,
    "post_admin_live_chat_bulk": """
    Carries out a list of actions on each of up to 100 conversations, by the rules of the single \
    routes. Each conversation has a result of its own: a refusal ends its actions and the others \
    continue. After a 503 repeat the request with the same Idempotency-Key: nothing is sent twice.
    """,
    "get_admin_visitors": """
    Searches names and e-mail addresses for the text, and ids and external ids for exactly it. \
    Those seen last come first. Merged visitors are not listed; their ids give the survivor.
    """,
    "get_admin_visitors_id": """
    The profile of a visitor, with the number of conversations. The id of a merged visitor gives \
    the survivor, here and in the other routes of visitors.
    """,
    "get_admin_visitors_id_merge": """
    Returns the effect of a merge of the two visitors, and changes nothing. The visitor of the \
    path survives, unless only the other one has an external id. Two with an external id each are \
    two people for your site: 409.
    """,
    "post_admin_visitors_id_merge": """
    Gives the conversations and ratings of the other visitor to this one; see the preview for \
    which of them survives. The survivor's name, address and attributes hold, and the other's fill \
    what is empty; `take` names fields in which the other's value holds. If one of them is \
    blocked, both are. Browsers keep their tokens, and continue their own conversations only: the \
    merge shows nobody what was written elsewhere. It cannot be undone; a repeated request changes \
    nothing.
    """,
    "patch_admin_visitors_id": """
    Corrects the name and the e-mail address. A missing member remains unchanged.
    """,
    "post_admin_visitors_id_block": """
    Closes the visitor's connections and refuses new ones. Conversations remain.
    """,
    "post_admin_visitors_id_unblock": """
    Lets a blocked visitor connect again.
    """,
    "get_admin_visitors_id_friend_events": """
    The history of a visitor of a messenger channel.
    """,
    "get_admin_visitors_id_export": """
    All data of one visitor in one document, for a request of access (GDPR, article 15). The \
    audit log notes it.
    """,
    "delete_admin_visitors_id": """
    Erases the visitor, the conversations and the messages for good (GDPR, article 17). It cannot \
    be undone; the audit log notes it without personal data.
    """,
  ]

  private static let workspace: [String: String] = [
    "get_admin_settings": "All settings of the workspace, and the limits of the gateway for it.",
    "patch_admin_settings": """
    Changes the members that are sent. Widgets get the new settings at their next visit.
    """,
    "get_admin_members": "The members with role, presence and open conversations.",
    "post_admin_members": """
    Creates an account. The member chooses an own password at the first login.
    """,
    "patch_admin_members_id": """
    Changes name, role or password, or disables the member. A disabled member is logged out \
    before the response comes. The last owner remains an owner (409).
    """,
    "delete_admin_members_id": """
    Removes the member, who is logged out; open conversations go back to the queue.
    """,
    "post_admin_members_id_reset_second_factor": """
    For a member who has lost the app, the passkeys and the recovery codes.
    """,
    "get_admin_teams": """
    Each team with its members, whether one of them is available, and the number of conversations \
    that wait for it.
    """,
    "post_admin_teams": """
    A team takes the conversations that visitors, pages, bots, rules or operators give it. It has \
    no members at first.
    """,
    "patch_admin_teams_id": "Changes the given members only.",
    "put_admin_teams_id_members": """
    The team then has these members and no others. Conversations that an operator has stay with \
    the operator.
    """,
    "delete_admin_teams_id": """
    Removes the team. Its waiting conversations return to the queue of the workspace.
    """,
    "get_admin_tags": "Each tag with its colour and the number of its conversations.",
    "put_admin_tags_name": "Creates a tag, or changes the colour of an existing one.",
    "delete_admin_tags_name": "Removes the tag from the workspace and from all conversations.",
    "get_admin_credentials": "Names and times only. A stored secret is never returned.",
    "put_admin_credentials_provider": "Stores a secret for another system, encrypted.",
    "delete_admin_credentials_provider": "Deletes the credential with this provider and name.",
    "get_admin_api_keys": "The keys with scopes and last use, without the keys themselves.",
    "post_admin_api_keys": """
    Creates a key for programs. The response contains it once; the gateway stores only its hash.
    """,
    "delete_admin_api_keys_id": "The key is refused from now on, and its connections end.",
    "get_admin_identity_secrets": """
    The secrets with which the host site signs its visitors' identities (`identify` of the widget).
    """,
    "post_admin_identity_secrets": """
    Creates a secret and ends the others after `overlap_hours`, so that none is refused in between.
    """,
    "delete_admin_identity_secrets_id": "Identities that it has signed are refused from now on.",
    "get_admin_assist": """
    The endpoint, model and limits of drafts, and the tokens spent by day and month in UTC. \
    Tokens of drafts that are being written count with the most that they can cost.
    """,
    "put_admin_assist": """
    Off until `enabled` is true and a use is in `uses`: until then, nothing is sent. Each draft \
    reserves the most tokens that it can cost, so that the limits hold. Texts of conversations go \
    to the endpoint, without names and ids. With `automatic`, visitors get answers while no \
    operator is available, from canned replies (`replies`), or from closed conversations too \
    (`conversations`).
    """,
    "post_admin_assist_trial": """
    Sends one small request to the saved endpoint, and waits for the end of its answer, at most \
    20 s. Nothing is stored but its tokens, which count against the limits. A fault of the \
    endpoint is the result, with status 200.
    """,
    "delete_admin_assist": "Turns drafts off and deletes the key. What was spent stays counted.",
    "get_admin_live_chat_assist": "Empty while drafts are off.",
    "post_admin_live_chat_conversations_id_assist": """
    Has the workspace's endpoint write a draft for the caller; nothing is added to the \
    conversation. The response is a stream of server-sent events: `data` with a piece of `text`, \
    comments as signs of life, and in the end one event `done` with the tokens that the endpoint \
    counted (0: it did not), or `problem` with a problem document. Closing the connection stops \
    the draft. A suggestion is based on the conversation, on canned replies and on closed \
    conversations of the workspace. An Idempotency-Key is ignored.
    """,
    "get_admin_identity_provider": "The configuration of single sign-on; null if there is none.",
    "put_admin_identity_provider": """
    Stores the provider after reading its discovery document. Another issuer needs its secret again.
    """,
    "delete_admin_identity_provider": "Ends single sign-on. Members keep their accounts.",
    "get_admin_audit_log": """
    Changes of settings, members, keys and visitors, with the person or key that made each.
    """,
    "get_admin_webhooks": "The webhooks of the workspace, and the events that exist.",
    "post_admin_webhooks": """
    Events are delivered as signed POST requests at least once, in order for each conversation.
    """,
    "get_admin_webhooks_id": "A webhook with the count of its failures since the last success.",
    "patch_admin_webhooks_id": "Changes the address or the events, or turns deliveries off and on.",
    "delete_admin_webhooks_id": "Deletes the webhook. Waiting deliveries are not sent.",
    "post_admin_webhooks_id_test": "Queues an event `test`, to try the receiver.",
    "get_admin_webhooks_id_deliveries": """
    Deliveries with their attempts and the last error, for as long as they are kept.
    """,
    "post_admin_webhooks_id_deliveries_delivery_redeliver": """
    Queues the delivery again. Receivers recognise it by its id.
    """,
  ]

  private static let automation: [String: String] = [
    "get_admin_views": """
    Views that are shared with the workspace, and the caller's private ones, with the number of \
    conversations in each.
    """,
    "post_admin_views": """
    A view is a set of filters of the list of open conversations, by name. A private one is \
    visible to its owner only. A view of an API key is always shared.
    """,
    "patch_admin_views_id": """
    Changes the members that are sent; `filters` are replaced as a whole. A shared view is changed \
    by its creator and by administrators.
    """,
    "delete_admin_views_id": "Its conversations remain.",
    "get_admin_macros": """
    Macros that are shared with the workspace, and the caller's private ones.
    """,
    "post_admin_macros": """
    A macro is a list of at most 10 actions. A private one is visible to its owner only. A macro \
    of an API key is always shared.
    """,
    "patch_admin_macros_id": """
    Changes the members that are sent. A shared macro is changed by its creator and by \
    administrators.
    """,
    "delete_admin_macros_id": "What the macro did remains.",
    "post_admin_macros_id_run": """
    Carries out the macro on each of up to 100 conversations, as the bulk change does.
    """,
    "get_admin_reply_objects": "Texts, buttons and cards that operators insert and the bot sends.",
    "put_admin_reply_objects_object_id": "Stores a reply object under its name.",
    "delete_admin_reply_objects_object_id": "Intents that refer to it skip it.",
    "get_admin_intents": "Rules by which the bot answers: the first one that matches counts.",
    "post_admin_intents": """
    Adds a rule. `match_kind` tells how `keyword` is compared with a visitor's message.
    """,
    "put_admin_intents_name": "Changes the members that are sent.",
    "delete_admin_intents_name": "The bot no longer uses the rule.",
    "get_admin_rich_menus": "The bars of actions above the widget's input.",
    "post_admin_rich_menus": "Adds a menu, as a draft unless `status` is `published`.",
    "patch_admin_rich_menus_id": "Changes the members that are sent.",
    "delete_admin_rich_menus_id": "Deletes the menu. A published one disappears from the widget.",
  ]

  private static let connections: [String: String] = [
    "get_admin_connections": """
    WebSocket connections of visitors and operators, with addresses, durations and volumes.
    """,
    "get_admin_connections_id": "A connection, also for some time after its end.",
    "post_admin_connections_id_disconnect": """
    Closes the connection with 4302. The client may connect again; block a visitor to prevent it.
    """,
    "post_admin_connections_id_trace": """
    Records types, sizes and times of frames, never their contents, until it is ended or full.
    """,
    "get_admin_connection_traces_id": """
    Lines after the position `after`. Ask again with `position` until `ended` is not null.
    """,
    "delete_admin_connection_traces_id": "Ends the trace and frees its lines.",
  ]

  private static let login: [String: String] = [
    "post_auth_login": """
    Sets the console's cookie and returns a token, or a challenge if a second factor is needed.
    """,
    "post_auth_setup": """
    For the page `/setup`. Works once, while the database has no operator. A wrong code counts \
    against the address.
    """,
    "post_auth_login_code": "Completes a login whose first step returned a challenge.",
    "post_auth_login_passkey_options": "The first request of a login with a passkey.",
    "post_auth_login_passkey": "Checks the browser's response and logs in.",
    "get_auth_provider": "For the login page: whether to show the button, and its words.",
    "post_auth_provider_begin": "Sets a cookie that binds the sign-in to this browser.",
    "post_auth_provider_finish": "Exchanges the code at the provider and logs the member in.",
    "post_auth_token": "Tokens expire; the console renews its own with this request.",
    "post_auth_logout": "The cookie and the tokens of this login are refused from now on.",
    "get_auth_me": "The operator whose login the request carries.",
    "post_auth_password": "Ends the account's other logins.",
    "get_auth_second_factor": "The app, the passkeys and the recovery codes of the account.",
    "post_auth_second_factor_app": "A secret for an authenticator app. It replaces the former app.",
    "post_auth_second_factor_app_confirm": "Returns recovery codes if the account had none.",
    "post_auth_second_factor_recovery_codes": "The former codes are refused from now on.",
    "post_auth_second_factor_remove": """
    Removes app, passkeys and recovery codes. Refused if the workspace requires a second factor.
    """,
    "post_auth_second_factor_passkeys": "The first request of adding a passkey.",
    "post_auth_second_factor_passkeys_confirm": "Checks the browser's response and stores the key.",
    "post_auth_second_factor_passkeys_id_remove": "The passkey no longer logs in.",
    "get_auth_sessions": "Logins in browsers, with device, address and last use.",
    "post_auth_sessions_end_others": "Other browsers must log in again.",
    "delete_auth_sessions_id": "That browser must log in again.",
    "get_auth_push": "What a browser needs for a subscription, and what this one is sent.",
    "put_auth_push": """
    While no console of the operator is visible, the browser gets a push message for a new \
    conversation and for a message in one of the operator's own. It ends with the login.
    """,
    "delete_auth_push": "The browser gets no more push messages.",
    "get_openapi.json": "The document from which the page /api is made.",
  ]

  private static let widget: [String: String] = [
    "get_widget_config": "Colours, texts, hours and forms, as the widget needs them.",
    "post_widget_token": """
    Creates a visitor, or continues one: with `refresh`, the secret of the former response, or \
    with `identity`, a JWT that the host site has signed. The token opens the WebSocket.
    """,
    "put_widget_profile": "The name and the answers of the form before the chat.",
    "put_widget_page": """
    Operators see it in the conversations of the token that are not closed, and the pages before \
    it as a trail.
    """,
    "post_widget_offline": "Begins a conversation without a WebSocket.",
    "put_widget_sessions_id_rating": "From 1 to 5, with a comment. A later rating replaces it.",
    "get_widget_sessions_id_transcript": """
    Messages and events without notes, for the visitor's own files. At most 1 MiB.
    """,
  ]

  private static let watching: [String: String] = [
    "post_widget_visit": """
    A beacon of a page whose snippet has `data-watch`: which page is open, and whether its tab is \
    hidden. It is kept in memory; the body is JSON of any declared type, so that a browser needs \
    no preflight and can send it while the page is closed. `enabled` is false unless the workspace \
    watches visitors: then send none. `invitation` names a conversation that an operator has begun.
    """,
    "get_admin_live_chat_visitors": """
    Browsers that have a page of the site open, of all gateways: those who wait first, then the \
    longest on the site. Ids are those of browsers; `visitor_id` is that of the visitor, once the \
    chat was opened. `counts` has the number of visitors for each value of a filter.
    """,
    "get_admin_live_chat_visitors_id": "The last 20 pages, the oldest first.",
    "post_admin_live_chat_visitors_id_conversation": """
    The visitor sees the message within a heartbeat of the page, at most three minutes. A visitor \
    with an open conversation gets it there. 404: the visitor has left. 409 with the name of the \
    winner: another operator is in a conversation with the visitor.
    """,
    "get_admin_proactive_messages": """
    Messages that the widget shows by itself, with how often each was shown and how many \
    conversations began with it.
    """,
    "post_admin_proactive_messages": """
    Adds a message, disabled unless `is_enabled` is true. All of its conditions must be met.
    """,
    "patch_admin_proactive_messages_id": """
    Changes the members that are sent. `conditions` are replaced as a whole.
    """,
    "delete_admin_proactive_messages_id": "Pages show it no more within seconds.",
  ]

  /// Parameters of queries, by name, unless their schema has a description.
  static let parameters: [String: String] = [
    "expires": "The end of the link, as it stands there.",
    "signature": "The signature of the link.",
    "thumbnail": "1: the smaller image.",
    "address": "The beginning of an IP address.",
    "after": "Only what comes after this position.",
    "around": "Messages before and after this seq.",
    "assignee": "`me`, `none`, or the id of an operator.",
    "before": "Only messages before this seq.",
    "except": "A visitor whom the search leaves out.",
    "from": "The first day.",
    "limit": "The most rows of the page.",
    "name": "The name of the credential.",
    "q": "The text to search for.",
    "session": "The id of a conversation.",
    "since": "Only conversations that were created at this moment or later (RFC 3339).",
    "state": "Open connections, or those that have ended.",
    "status": "Only those in this state.",
    "tag": "Only conversations with this tag.",
    "team": "Only conversations of this team, or without one.",
    "to": "The last day.",
    "until": "Only conversations that were created before this moment (RFC 3339).",
    "visitor": "Only conversations of this visitor; in a preview, the one to merge.",
    "workspace": "The workspace's public key; of a sign-in, its name or key.",
  ]

  /// Examples of names in paths, by the segment before them.
  static let names: [String: String] = [
    "channel": "pk_5f1c9a", "channels": "line", "credentials": "line", "intents": "Opening hours",
    "reply-objects": "hours", "tags": "billing", "parts": "65536", "password-link": "q1W2e3",
    "unsubscribe": "q1W2e3",
  ]

  /// Examples of responses that are no JSON, by `operationId`.
  static let plainResponses: [String: String] = [
    "get_attachments_id": "The bytes of the file.",
    "get_admin_live_chat_export": """
    {"type":"conversation","conversation":{"id":"0199c5a2-7be1-7d40-9c55-3f0e8a61b204"}}
    {"type":"message","session":"0199c5a2-7be1-7d40-9c55-3f0e8a61b204","seq":1,"body":"Hello"}
    {"type":"end","conversations":1,"messages":1,"next_cursor":null}

    """,
    "post_admin_live_chat_conversations_id_assist": """
    data: {"text":"It left Rotterdam"}

    data: {"text":" today."}

    event: done
    data: {"tokens":412}


    """,
    "get_widget_sessions_id_transcript": """
    2026-11-23 14:29 UTC  Ada Lovelace: Where is order 20418?
    2026-11-23 14:31 UTC  Mika: It left Rotterdam today.

    """,
  ]

  /// Parameters of paths, by the segment before them.
  static let segments: [String: String] = [
    "attachments": "The id of the attachment.",
    "parts": "The bytes before the part.",
    "api-keys": "The id of the API key.", "channel": "The workspace's public key.",
    "channels": "The name of the channel.",
    "connection-traces": "The id of the trace.",
    "connections": "The id of the connection.",
    "conversations": "The id of the conversation.",
    "credentials": "The name of the other system.",
    "deliveries": "The id of the delivery.",
    "identity-secrets": "The id of the secret.",
    "intents": "The name of the intent.",
    "macros": "The id of the macro.",
    "members": "The id of the member.",
    "passkeys": "The id of the passkey.",
    "password-link": "The secret of the link.",
    "unsubscribe": "The secret of the link.",
    "proactive-messages": "The id of the proactive message.",
    "reply-objects": "The name of the reply object.",
    "rich-menus": "The id of the menu.",
    "sessions": "The id of the conversation, or of the login.",
    "tags": "The name of the tag.",
    "teams": "The id of the team.",
    "views": "The id of the view.",
    "visitors": "The id of the visitor.",
    "webhooks": "The id of the webhook.",
  ]
}
