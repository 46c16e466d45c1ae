/// Descriptions and examples of the members of bodies and responses, for the OpenAPI document, by
/// name. A description beside a schema counts first, then an entry for one component
/// (`Settings.name`), then the entry for the name in all of them.
import JSON
import Primitives

enum MemberTexts {
  /// The description of a member that its schema does not describe; nil: none.
  static func description(of name: String, in component: String) -> String? {
    entry(name, component) { $0.description.isEmpty ? nil : $0.description }
  }

  /// The text of an example; of a member that is no string it is JSON.
  static func example(of name: String, in component: String) -> String? {
    entry(name, component) { $0.example.isEmpty ? nil : $0.example }
  }

  private static func entry(
    _ name: String, _ component: String, _ part: (Entry) -> String?
  ) -> String? {
    entries["\(component).\(name)"].flatMap(part) ?? entries[name].flatMap(part)
  }

  private struct Entry {
    var description: String
    var example: String
  }

  private static let entries: [String: Entry] = {
    var found: [String: Entry] = [:]
    let tables = [table, actionsTable, assistTable, attachmentTable, channelsTable]
    for line in tables.joined(separator: "\n").split(separator: "\n") {
      let cells = line.split(separator: "|", omittingEmptySubsequences: false)
        .map { String($0.trimmingBlanks) }
      precondition(cells.count == 3 && found[cells[0]] == nil, "a wrong line: \(line)")
      found[cells[0]] = Entry(description: cells[1], example: cells[2])
    }
    return found
  }()

  /// `name | description | example` in each line.
  private static let table = #"""
    accent | The colour of buttons, as #rrggbb. | #0b6e63
    action | The change, as object.verb. | member.added
    actions | The entries of the menu, from left to right. |
    Settings.team | The id or name of a team. | Billing
    Transfer.to_team | A team, whose members then take it; null: every operator. Excludes `to`. |
    active_count | Conversations that an operator has. |
    actor | The kind of author: operator, api_key or command. | operator
    actor_id | The id of the author. |
    actor_name | The author's name at that time. | Mika Sato
    address | The IP address. | 203.0.113.7
    age | Seconds since then. | 42
    allowed_origins | Origins of sites that may embed the widget. | https://www.example.com
    alt_text | The text for clients that show none of the rest. | Choose a size
    always | Open at any time. |
    amount |  | 1200
    answered | Conversations that began with it. | 3
    api_key | The key without its secret. |
    api_keys | The keys. |
    app | An authenticator app is set up. |
    assign | `off`: operators claim; `least_busy`: the gateway assigns. | off
    Team.assign | `off`, `least_busy` or `round_robin`; null: as the workspace. | round_robin
    Team.capacity | Open conversations of a member at most; null: as the workspace. | null
    Team.name | The name. | Billing
    moved_conversations | The conversations that were moved; 0: the visitors were merged before. | 2
    take | Fields in which the value of the visitor who does not survive is to hold. |
    VisitorMerge.visitor | The id of the other visitor. |
    MergedVisitor.visitor | The surviving visitor. |
    MergePreview.attributes | Those of the surviving visitor after the merge. | {"plan":"pro"}
    merged | The visitors who were merged into this one. |
    Team.available | A member is there and takes new conversations. | true
    Team.waiting | Conversations that wait for the team. | 2
    TeamMember.name | The name. | Mika Sato
    Push.messages | Messages in the operator's own conversations are pushed. | true
    Push.waiting | New conversations that the operator may claim are pushed. | true
    PushSubscription.messages | Push messages in the operator's own conversations. | true
    PushSubscription.waiting | Push new conversations that the operator may claim. | true
    Push.texts | Push messages have the text of the visitor's message. | false
    PushSubscription.texts | Have the text of the visitor's message in push messages. | false
    PushSubscription.endpoint |  | https://push.example.net/s/4f1c9a
    p256dh |  | BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SR\#
    pkNtoIAiw4
    auth |  | BTBZMqHH6r4Tts7J_aSIgg
    assignee | The operator who has it. |
    at | When it was stored (UTC). |
    attempts | Requests so far. | 1
    attributes | What the host site knows of the visitor. | {"plan":"pro"}
    audience | `new` and `returning` are first and later visits. | anybody
    audit_log | The changes. |
    authenticatorData | As the authenticator returned it, in base64url. |
    available | Takes new conversations. | true
    away_message | Sent outside business hours. |
    banned_at | When the visitor was blocked. | null
    began_at | When the visit began. |
    body | The text in UTF-8. | Order 20418 left Rotterdam today.
    buttons | Buttons under the text. |
    by_hour |  | [[0,2,5],[1,0,3]]
    bytes | Bytes of the frame's payload. | 412
    bytes_in | Bytes received. | 20480
    bytes_out | Bytes sent. | 65536
    campaign | The campaign that the first address of the visit names (utm_…). | spring
    capacity | Open conversations of an operator at most. | 5
    cards | The cards, side by side. |
    challenge | From the response of the step before. | eyJhbGciOi
    channel | The channel of the visitor. | line
    claimed_at | When an operator took it. |
    clientDataJSON | As the browser returned it, in base64url. |
    client_id | The id of this gateway at the provider. | chirrup
    first_response_minutes | Minutes of business hours until the first response; 0: no target. | 15
    resolution_minutes | Minutes of business hours until it is closed; 0: no target. | 480
    Team.first_response_minutes | The target of the team; 0: none; null: as the workspace. | null
    Team.resolution_minutes | The target of the team; 0: none; null: as the workspace. | null
    NewTeam.first_response_minutes | The target of the team; 0: none; null: as the workspace. | 15
    NewTeam.resolution_minutes | The target of the team; 0: none; null: as the workspace. | 480
    TeamPatch.first_response_minutes | The target of the team; 0: none; null: as the workspace. | 15
    TeamPatch.resolution_minutes | The target of the team; 0: none; null: as the workspace. | 480
    first_response | First responses that came late or not at all. | 3
    resolution | Conversations that were closed late or are still open. | 1
    close_after_minutes | Minutes without an entry after which it is closed; 0: never. | 60
    closed_at | When it was closed. | null
    closed_by | The side that ended the connection. | peer
    closed_count | Closed conversations. |
    code | The code. | 1000
    colour | As #rrggbb; null: the default. | #0b6e63
    comment | The visitor's words. | Quick and kind.
    conditions | All of them must be met. |
    connection | The connection. |
    connections | The connections. |
    conversation | The conversation. |
    conversations | The conversations, or their number. | 3
    country | Two letters (ISO 3166-1); a guess by the language unless a proxy sends it. | NL
    create_members | Unknown people become members. | true
    created_at | When it was created (UTC). |
    created_by | The operator who created it. |
    credential | The credential without its secret. |
    credentials | The credentials. |
    csat_count | Ratings. | 12
    csat_mean | The mean rating. | 4.6
    csat_stars | How often each number of stars was given, from 1 to 5. |
    current | Whether it is the login of this request. | true
    day | The day. |
    days | A row for each day. |
    default_role | Of people in none of the groups; null: none. | agent
    deflated | The frame was compressed. | true
    deleted_at | When it was deleted. |
    deleted_by | The name of the person or key that deleted it. | Mika Sato
    deleted_days | Days from deletion to erasure. | 30
    deleted_via | The kind of author. |
    delivered_at | When the receiver accepted it. |
    deliveries | The deliveries. |
    delivery | The delivery. |
    detail |  | This conversation is closed; reopen it first.
    details | The changed members. | {"role":"agent"}
    device | Browser and system. | Firefox on Linux
    disabled | May not log in. | false
    duration_ms | How long it has lasted, in ms. | 84000
    email | The e-mail address. | ada@example.com
    enabled | Whether it is on. | true
    ended_at | When it ended. | null
    ends_at | From when on it is refused; null: never. | null
    epoch | The identity of the log; another one means that the database was replaced. | 3f9c1a2b
    erased_at | When it will be erased. |
    error | The error code of the provider. | access_denied
    event | The event. |
    events | The names of events. |
    expires_at | From when on it is refused. |
    external_id | The visitor's id in your own system. | customer-20418
    failing_since | Since when all attempts fail; null: they do not. | null
    failures | Failed attempts since the last success. | 0
    fields | The questions. |
    first_response_p50_ms | The median time to the first response, in ms. | 42000
    first_response_p90_ms | Nine of ten first responses were quicker, in ms. | 120000
    follows | The history of a messenger channel. |
    frame | The kind of frame. |
    friend_events | The events. |
    from | The first day, or the opening time. | 09:00
    gateway | The id of the gateway process. |
    greeting | The first words of the widget. |
    greeting_message | The bot's first message. |
    group | A group as the provider names it. | support
    group_roles | The roles of groups. |
    groups_claim | The claim with the groups. | groups
    handover | Puts the conversation into the queue. |
    head | The last seq of the conversation. | 18
    hits | The messages found. |
    holidays | Days on which it is closed. |
    host | The host name for which the passkey was made. | chat.example.com
    hours | Business hours. |
    done_count | Conversations that were changed. | 28
    failed_count | Conversations with a refused action. | 0
    is_identified | Your site has signed the external id; false: nobody has. | true
    is_shared | All operators have it; false: only its owner. | true
    may_change | Whether the caller may change it. | true
    outcome | The result. | done
    unchanged_count | Conversations that were so already. | 2
    id | Its id. |
    identity | A JWT of the host site, signed with an identity secret. | eyJhbGciOi
    identity_provider | The provider; null: none. |
    identity_secret | The secret's id and times. |
    identity_secrets | The secrets' ids and times. |
    image_url | The address of an image. | https://www.example.com/hose.png
    intent | The intent. |
    intents | The intents. |
    invitation | A conversation that an operator has begun with this browser. |
    is_enabled | Whether it is used. | true
    is_open | Whether it is within business hours. | true
    iss | The issuer in the provider's answer (RFC 9207). | https://login.example.com
    issuer | The provider's issuer. | https://login.example.com
    key | The key of the field. | order
    keyword | The words, or the regular expression. | opening hours
    kind | The kind. |
    label | The words on it. | Opening hours
    language | The browser's first language. | en-GB
    languages | The languages that it speaks, for rules that choose by language. | de
    last_error | Why the last attempt failed. | null
    last_message | The last message. | Order 20418 left Rotterdam today.
    last_seen_at | The last use. |
    last_seq | The seq of the last message. | 18
    last_used_at | The last use; null: none. |
    limit |  | member
    limits | The gateway's limits for this workspace. |
    lines | The lines. |
    load | Open conversations of the member. | 2
    locale | The language, as a BCP 47 tag or `auto`. | en
    login | `challenge` of a login with a password, if this is its second step. |
    loop | The number of the event loop. | 0
    match_kind | How the keyword is compared. |
    member | The member. |
    members | The members. |
    may_show | False: another browser of the visitor, or this one, has shown the message. | true
    menu | The published menu. |
    message | The message. | Does the hose fit a long-tail frame?
    messages | The messages, or their number. | 18
    messages_in | Messages received. | 12
    messages_out | Messages sent. | 31
    methods |  | code
    mine_count | Conversations of the caller. |
    more | Whether there are further messages in this direction. | false
    must_add_second_factor |  | false
    must_change_password |  | false
    n | The number of the line. | 1
    name | The name. | Ada Lovelace
    needs_visit | The next beacon must contain `visit`. | false
    new | The new password. |
    new_session | Begin another conversation instead of continuing the last one. |
    next_attempt_at | When the next attempt is due. | null
    next_cursor |  | null
    next_seconds | Seconds until the next heartbeat. | 10
    now | The gateway's time. |
    object | The name of a reply object. | hours
    object_id | Its name. | hours
    object_type | The kind of content. |
    offline | The form that replaces the chat when nobody is there. |
    once | Once a visitor. | true
    online | Has a connection now. | true
    opened_at | When it was opened. |
    opens_at | The next opening. | null
    operator | The operator. | Mika Sato
    operator_id | The operator who has the conversation; null: none. |
    operator_name | The operator's name; empty: none. | Mika Sato
    operators | A row for each operator. |
    operators_available | Whether an operator is available. | true
    options | The choices of a field. | Bikes
    overflow_after_minutes | Wait until any operator may take it if no member is there. | 10
    overlap_hours | Hours for which the others are still accepted. | 24
    page | The address without its query, or what a page needs. | https://www.example.com/brakes
    page_at | When the page was opened. |
    pages | Pages of this visit. | 4
    passkeys | The passkeys. |
    password | Whether a password is set, and by whom. |
    password_login | Members log in with a password or passkey, too. | true
    path | The path of the page; `*` stands for any text. Empty: every page. | /checkout*
    payload | Buttons, cards and so on, beside the text. | {}
    pointer |  | /email
    position | The place in the order, or the side of the page. | 1
    prechat | The form before the chat. |
    preview | The last message; in settings: operators see what is typed. | Order 20418 left
    proactive | The proactive message to which the visitor replies: a conversation begins with it. |
    proactive_message | The message. |
    proactive_messages | The messages. |
    provider | The name of the other system. | line
    publicKeyAlgorithm |  | -7
    public_key | The workspace's public key. | pk_5f1c9a
    question | The question of the form. | How did we do?
    queue | How conversations are assigned. |
    queue_position |  | 1
    quick_replies | Answers to choose from. |
    rating | The rating. | 5
    rating_comment |  | Quick and kind.
    ratings | The visitor's ratings. |
    read_seq | The mark. | 17
    reason | The reason. | must be an e-mail address.
    reassign_after_seconds | Absence of the operator after which it waits again; 0: never. | 60
    recovery_codes |  | 7mq2-x4kd-p9ra
    recovery_codes_left | Unused recovery codes. | 8
    redirect_uri |  | https://chat.example.com/console
    referrer | The page before the first one. | https://www.example.org/
    refresh | The secret with which the visitor returns. It is replaced at each use. | q8Zt1vXc
    refused | Messages that were refused. |
    replies | The replies, in order. | {"text":"We are open from 9 to 17 on weekdays."}
    reply_object | The reply object. |
    reply_objects | The reply objects. |
    require_second_factor | Members need a second factor. | false
    required | Must be filled in. | true
    required_acr | The `acr` that an ID token must have. | null
    required_amr | A value that `amr` of an ID token must have. | null
    resolution_p50_ms | The median time to closing, in ms. | 540000
    resolution_p90_ms | Nine of ten were closed sooner, in ms. | 1800000
    response | The authenticator's response. |
    retention | How long data is kept. |
    rich_menu | The menu. |
    rich_menus | The menus. |
    role | The role. | visitor
    routing | Which team gets a new conversation. |
    rules | The rules, of which the first that matches counts. |
    scopes | The scopes. | conversations:read
    scroll_percent | The part of the page that was scrolled through; 0: not needed. | 50
    second_factor | Has a second factor. | true
    seconds |  | 60
    seconds_max | The trace ends by itself after these seconds. | 600
    secret | The secret. | whsec_0c7f5a
    security | Rules for logins. |
    sender | The author. |
    sender_name | The name above it; null: that of the workspace. | Mika
    seq | Its place in the conversation: 1, 2, 3, … without holes. | 18
    session | The id of the conversation. |
    session_count | Conversations that it follows. | 1
    sessions | The conversations, or their number. | 7
    settings | The settings. |
    shortcut | Operators type / and this word. | hours
    show | The proactive message that the page is about to show. |
    show_position | Visitors see their position in the queue. | true
    shown | How often browsers have shown it. | 120
    signature | In base64url. |
    slow_ms | How long its socket has taken nothing, in ms. | null
    snippet | The text around the words found. | … the hose fits a long-tail frame …
    sound | Plays a sound for new messages. | true
    source | The campaign, or the host of the referrer; empty: neither is known. | search.example
    state | The state. |
    status | The state. | waiting
    sync_error | Why the menu could not be sent to the channel. | null
    sync_status | Whether the menu was sent to the channel. |
    synced | The passkey is kept on several devices. | true
    tab | A name of the tab, chosen by the page. | t1
    tag | The tag. |
    team | The team. |
    teams | The teams. |
    tags | The tags. | billing
    take_roles_back | A sign-in also lowers roles. | false
    target | The connection or person that is traced. |
    target_id | The id of the changed object. |
    teaser | Shows the greeting beside the button. | true
    text | The text. | How can we help?
    theme | `auto`, `light` or `dark`. | auto
    time_zone | A name of the IANA time zone database. | Europe/Berlin
    title | The title. | Brake hose for a cargo bike
    to | The last day, or the closing time. | 17:00
    token | The token for the WebSocket. | eyJhbGciOi
    total | All that match the filters. |
    trace | The trace. |
    trail | The pages of the visit, the oldest first, at most 20. |
    transports | How the authenticator is connected. | internal
    trust_second_factor | No second factor follows the provider's login. | false
    type | The kind. |
    updated_at | The last change. |
    uri |  | otpauth://totp/Chirrup:ada%40example.com?secret=JBSWY3DP
    url | The address. | https://hooks.example.com/chirrup
    userHandle | As the authenticator returned it, in base64url. |
    user_agent | The browser. | Mozilla/5.0
    value | What a click sends or opens. | opening hours
    visit | The visit so far: with each navigation, and when it is asked for. |
    visitor | The visitor. | Ada Lovelace
    visitor_id | The id of the visitor. |
    visitor_name | The visitor's name. | Ada Lovelace
    visitor_read_seq | The highest seq that the visitor has read. | 18
    visitors | The visitors. |
    visits | Visits of this browser, with this one. | 2
    wait_p50_ms | The median time in the queue, in ms. | 21000
    wait_p90_ms | Nine of ten waited less, in ms. | 64000
    waiting_count | Conversations in the queue. |
    waits_since | Since when the conversation waits; null: it does not. | null
    watching | Operators see who is on the site. |
    mail | Outgoing e-mail. |
    configured | The gateway has a mail server. |
    recipient | The address in short. | a…@example.com
    ConversationMail.author | The address in short. | a…@example.com
    ConversationMail.verdict | What the mail server says. | spf=pass dkim=pass dmarc=pass
    ConversationMail.replies | Replies that came by e-mail. | []
    first_seq | The first message that it contains. | 17
    Settings.answers | Answers that a visitor has not read are sent to their address. | true
    Settings.answers_after_seconds | The seconds after the last answer until then. | 300
    Settings.sender_name | Empty: the widget's name, or the workspace's. | Tidewater Cycles
    Settings.sender_address | Empty: the gateway's. | help@example.com
    Settings.reply_to | Empty: the sender. | help@example.com
    Settings.alert_to | Learns of visitors who wait in the queue; empty: nobody. | team@example.com
    Settings.alert_after_seconds | The seconds for which a visitor waits before. | 300
    Settings.offline_to | Gets the messages of the offline form; empty: nobody. | help@example.com
    Settings.transcripts | Visitors may have the transcript sent to their address. | true
    webhook | The webhook. |
    webhooks | The webhooks. |
    when | The conditions. |
    when_available | Only while an operator is available. | true
    when_open | Only within business hours. | true
    widget | The look of the widget. |
    workspace | The workspace. | Tidewater Cycles
    Analytics.day |  | 2026-11-23
    Conversation.rating |  | 5
    Settings.rating | The question after a conversation. |
    Settings.position | The side of the page. | right
    WidgetConfig.position | The side of the page. | right
    Settings.type | The kind of field. |
    Menu.status | Whether visitors see it. |
    Problem.type |  | urn:chirrup:problem:session_closed
    Problem.title |  | Conversation closed
    Problem.status |  | 409
    Stored.id | The id of the message. |
    Member.name | The name. | Mika Sato
    Account.name | The name. | Mika Sato
    Login.name | The name. | Mika Sato
    Tag.name | The name. | billing
    Intent.name | The name. | Opening hours
    Menu.name | The name. | Main menu
    Webhook.name | The name. |
    Key.name | The name. | Order system
    Credential.name | The name. | default
    Passkey.name | The name. | Laptop
    LoginSession.name | The name. |
    Connection.address | The IP address. | 203.0.113.7
    Connection.reason | Why it ended. | null
    TraceLine.code |  | null
    TraceLine.reason | The reason of a close frame. | null
    TraceLine.type |  | send
    ListedRating.visitor | The visitor's name. | Ada Lovelace
    ListedRating.operator | The name of the operator. | Mika Sato
    ListedRating.team | The name of the team. | Billing
    ListedRating.day | The day on which the conversation began. | 2026-11-23
    ListedRating.at | When it was rated (UTC). |
    ListedRatings.ratings | The ratings. |
    Settings.name | The name. | Tidewater Cycles
    Settings.title | The first line. | Hello
    PresentVisitor.path | The path of the page, without its query. | /brakes/hose-kits
    PresentVisitorWithTrail.path | The path of the page, without its query. | /brakes/hose-kits
    PresentVisitor.page | The address without its query. | https://www.example.com/cart
    PresentVisitorWithTrail.page | The address without its query. | https://www.example.com/cart
    BeaconAnswer.sender | The name above the message. | Mika
    NewProactiveMessage.seconds | Seconds on the page. | 30
    ProactiveConditions.seconds | Seconds on the page. | 30
    ProactiveMessagePatch.seconds | Seconds on the page. | 30
    Settings.page | The beginning of a path; empty: any. | /billing
    Settings.language | A language tag; empty: any. | de
    WidgetConfig.title | The first line. | Hello
    WidgetConfig.name | The name. | Tidewater Cycles
    WidgetConfig.type | The kind of field. |
    ListedConversation.role | The author of the last message. | operator
    Conversation.role | The author of the last message. | operator
    SecondFactor.name | The name. | Laptop
    AuditEntry.id | The number of the entry. | 4711
    IdentitySecretAnswer.secret |  | is_9f2c
    KeyAnswer.key |  | ck_0000000000000000000000
    IdentityProvider.label | The words on the button. | Tidewater login
    IdentityProvider.role | The role of the group. |
    ProviderButton.label | The words on the button. | Tidewater login
    ProviderAddress.url | The address for the browser. | https://login.example.com/authorize?…
    NewSecondFactor.secret |  | JBSWY3DPEHPK3PXP
    EndedSessions.ended |  | 2
    TraceLines.ended |  | null
    TraceLines.position |  | 1
    NewMessage.id | Your own id of the message, best of version 7; repeated, it is stored once. |
    NewMessage.kind | `text`, or `note`: seen by operators only. |
    NewNote.id | Your own id of the note, best of version 7; repeated, it is stored once. |
    Message.kind | text, note, card, buttons, carousel, or event: a line about a change. |
    Message.id | The id of the message, made by its sender. |
    NewConversation.id | Your own id, to continue after a failure; best of version 7. |
    NewConversation.external_id | The visitor's id in your own system. |
    NewConversation.message | The first message, in the name of the caller. |
    """#
}
