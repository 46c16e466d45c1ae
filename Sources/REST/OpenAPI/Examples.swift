/// Examples for the OpenAPI document. Those of requests are written down, by the name of the body's
/// schema; those of responses are made from their schemas with the values of `MemberTexts`.
/// Tests/EndToEnd/openapi.sh compares each with its schema.
import JSON
import Primitives

enum Examples {
  static let id = "0199c5a2-7be1-7d40-9c55-3f0e8a61b204"
  static let time = "2026-11-23T14:31:07.412Z"
  static let date = "2026-11-23"

  static func request(_ component: String) -> JSONValue? {
    requests[component].flatMap { JSONValue($0) }
  }

  static let requests: [String: String] = [
    "BulkChange": #"""
    {"ids":["0199c5a2-7be1-7d40-9c55-3f0e8a61b204"],
     "actions":[{"type":"add_tags","tags":["spam"]},{"type":"close"}]}
    """#,
    "AssistChange": #"""
    {"enabled":true,"uses":["suggest","summary"],"endpoint":"https://api.example.com/v1",
     "model":"small-1","api_key":"sk-s3cret","tokens_per_day":100000}
    """#,
    "AttachmentIDs": #"{"ids":["0199c5a2-7be1-7d40-9c55-3f0e8a61b204"]}"#,
    "Bytes": #""bytes""#,
    "Beacon": #"""
    {"workspace":"pk_5f1c9a","secret":"q8Zt1vXcq8Zt1vXcq8Zt1v","tab":"t1","state":"here",
     "visit":{"age":42,"trail":[{"page":"https://example.com/","title":"Shop","age":42}]}}
    """#,
    "Close": #"{"reason":"Solved"}"#,
    "ConversationPatch": #"{"title":"Brake hose for a cargo bike"}"#,
    "ConversationTags": #"{"tags":["billing","cargo bike"]}"#,
    "CredentialChange": #"{"name":"default","secret":"s3cret"}"#,
    "CurrentPassword": #"{"current":"a sentence of my own"}"#,
    "Disconnection": #"{"reason":"A test of the client"}"#,
    "FirstWords": #"{"body":"Can I help you with the brakes?"}"#,
    "FileMessage": #"""
    {"id":"0199c5a2-7be1-7d40-9c55-3f0e8a61b205","body":"The receipt of order 20418",
     "attachments":["0199c5a2-7be1-7d40-9c55-3f0e8a61b204"]}
    """#,
    "IdentityProviderChange": #"""
    {"enabled":true,"label":"Tidewater login","issuer":"https://login.example.com",
     "client_id":"chirrup","client_secret":"s3cret","groups_claim":"groups",
     "group_roles":[{"group":"support","role":"agent"}],"create_members":true}
    """#,
    "IntentChange": #"{"replies":[{"text":"We are open from 9 to 17 on weekdays."}]}"#,
    "LoginCode": #"{"challenge":"eyJhbGciOi","code":"492039"}"#,
    "LoginRequest": #"{"email":"mika@example.com","password":"a sentence of my own"}"#,
    "MacroPatch": #"{"is_shared":true}"#,
    "MacroRun": #"{"ids":["0199c5a2-7be1-7d40-9c55-3f0e8a61b204"]}"#,
    "MemberPatch": #"{"role":"admin"}"#,
    "MenuPatch": #"{"status":"published"}"#,
    "NewAttachment": #"""
    {"id":"0199c5a2-7be1-7d40-9c55-3f0e8a61b204","name":"receipt.pdf","bytes":48213}
    """#,
    "NewCode": #"{"code":"492039"}"#,
    "NewConversation": #"""
    {"visitor":{"external_id":"customer-20418","name":"Ada Lovelace","email":"ada@example.com"},
     "title":"Order 20418","message":{"body":"Your order has left Rotterdam."}}
    """#,
    "NewDraft": #"{"use":"translate","language":"de","text":"It left Rotterdam today."}"#,
    "NewIdentitySecret": #"{"overlap_hours":24}"#,
    "NewIntent": #"""
    {"name":"Opening hours","keyword":"opening hours","match_kind":"contains",
     "replies":[{"text":"We are open from 9 to 17 on weekdays."}]}
    """#,
    "NewKey": #"{"name":"Order system","scopes":["conversations:read","conversations:write"]}"#,
    "NewMacro": #"""
    {"name":"Solved","is_shared":true,"actions":[
     {"type":"reply","text":"Glad that it works, {{visitor.name}}."},
     {"type":"add_tags","tags":["solved"]},{"type":"close"}]}
    """#,
    "NewMember": #"{"email":"noor@example.com","name":"Noor Haddad","role":"agent"}"#,
    "NewMenu": #"""
    {"name":"Main menu","actions":[{"label":"Opening hours","type":"message",
     "value":"opening hours"},{"label":"Talk to us","type":"operator"}]}
    """#,
    "SentMessage": #"{"body":"Order 20418 left Rotterdam today."}"#,
    "NewNote": #"{"body":"Asked the carrier; answer by Friday."}"#,
    "NewPasskey": #"""
    {"challenge":"eyJhbGciOi","name":"Laptop","credential":{"id":"AQID","response":{
     "clientDataJSON":"AQID","authenticatorData":"AQID","publicKey":"AQID",
     "publicKeyAlgorithm":-7,"transports":["internal"]}}}
    """#,
    "NewProactiveMessage": #"""
    {"name":"Checkout","body":"Is a question holding you up? Just write.","is_enabled":true,
     "conditions":{"path":"/checkout*","seconds":30}}
    """#,
    "NewTeam": #"{"name":"Billing","assign":"round_robin","languages":["de","en"]}"#,
    "NewView": #"""
    {"name":"German, waiting","filters":{"status":"waiting","language":"de"},"is_shared":true}
    """#,
    "VisitorMerge": #"{"visitor":"0199c5a2-7be1-7d40-9c55-3f0e8a61b204","take":["email"]}"#,
    "NewWebhook": #"""
    {"url":"https://hooks.example.com/chirrup","events":["message.created"]}
    """#,
    "Nothing": "{}",
    "Setup": #"""
    {"code":"signing.AQID","email":"mika@example.com","name":"Mika Sato",
     "password":"a sentence of my own","workspace":"Tidewater Cycles"}
    """#,
    "PasswordReset": #"{"email":"mika@example.com"}"#,
    "VisitedPage": #"{"page":"https://www.example.com/brakes/hose","title":"Brake hose"}"#,
    "OfflineMessage": #"""
    {"workspace":"pk_5f1c9a","email":"ada@example.com","name":"Ada Lovelace",
     "message":"Does the hose fit a long-tail frame?"}
    """#,
    "PasskeyLogin": #"""
    {"challenge":"eyJhbGciOi","credential":{"id":"AQID","response":{"clientDataJSON":"AQID",
     "authenticatorData":"AQID","signature":"AQID"}}}
    """#,
    "PasskeyLoginBegin": "{}",
    "PasswordChange": #"{"current":"a former sentence","new":"a sentence of my own"}"#,
    "ProactiveMessagePatch": #"{"is_enabled":false}"#,
    "ProviderAnswer": #"{"state":"q8Zt1vXc","code":"0c7f5a"}"#,
    "ProviderBegin": #"{"workspace":"Tidewater Cycles"}"#,
    "PushSubscription": #"""
    {"endpoint":"https://push.example.net/s/4f1c9a","waiting":true,"messages":true,"keys":{
     "p256dh":
     "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
     "auth":"BTBZMqHH6r4Tts7J_aSIgg"}}
    """#,
    "Rating": #"{"rating":5,"comment":"Quick and kind."}"#,
    "ReadMark": #"{"seq":18}"#,
    "ReplyObjectChange": #"""
    {"object_type":"text","shortcut":"hours",
     "payload":{"text":"We are open from 9 to 17 on weekdays."}}
    """#,
    "SecondFactorRemoval": #"{"code":"492039","current":"a sentence of my own"}"#,
    "SettingsPatch": #"""
    {"settings":{"rating":{"enabled":true},"queue":{"assign":"least_busy","capacity":5}}}
    """#,
    "TagChange": ##"{"colour":"#0b6e63"}"##,
    "TeamMembers": #"{"members":["0199c5a2-7be1-7d40-9c55-3f0e8a61b204"]}"#,
    "TeamPatch": #"{"overflow_after_minutes":10}"#,
    "Transfer": #"{"reason":"Knows long-tail frames"}"#,
    "ViewPatch": #"{"name":"German, waiting for long"}"#,
    "VisitorPatch": #"{"name":"Ada Lovelace","email":"ada@example.com"}"#,
    "VisitorProfile": #"{"name":"Ada Lovelace","attributes":{"plan":"pro"}}"#,
    "VisitorTokenRequest": #"{"workspace":"pk_5f1c9a","context":{"page":"https://example.com/"}}"#,
    "WebhookChange": #"{"events":["message.created","conversation.closed"]}"#,
  ]

  /// Of parameters whose value is no id of this gateway. Others have none, since a request with it
  /// would find nothing.
  static let parameters: [String: JSONValue] = [
    "from": .string("2026-11-01"), "to": .string("2026-11-23"), "q": .string("order"),
    "limit": .int(20), "Idempotency-Key": .string("order-20418-shipped"),
  ]

  // MARK: Responses

  /// A value that the schema allows.
  ///
  /// - Parameters:
  ///   - member: the name of the member whose value it is; empty: none.
  ///   - component: the named schema that contains it.
  static func value(
    of schema: JSONValue, member: String = "", in component: String = ""
  ) -> JSONValue {
    if let name = schema["$ref"]?.string?.split(separator: "/").last.map({ String($0) }) {
      guard let named = OpenAPIDocument.components[name] else { return .null }
      return value(of: named.definition, member: member, in: name)
    }
    if let choices = schema["anyOf"]?.array, let first = choices.first {
      // The others are null, or other forms of the same.
      if MemberTexts.example(of: member, in: component) == "null" { return .null }
      return value(of: first, member: member, in: component)
    }
    let text = MemberTexts.example(of: member, in: component)
    let types = schema["type"]?.array?.compactMap(\.string) ?? [schema["type"]?.string ?? ""]
    if text == "null", types.contains("null") { return .null }
    return value(of: types.first ?? "", schema, text, member, component)
  }

  private static func value(
    of type: String, _ schema: JSONValue, _ text: String?, _ member: String, _ component: String
  ) -> JSONValue {
    switch type {
    case "string": return string(schema, text)
    case "boolean": return schema["const"] ?? .bool(text == "true")
    case "integer", "number": return number(schema, text)
    case "array":
      if let text, text.hasPrefix("["), let value = JSONValue(text) { return value }
      return schema["items"].map { .array([value(of: $0, member: member, in: component)]) }
        ?? .array([])
    default:
      guard let members = schema["properties"]?.object else {
        return text.flatMap { JSONValue($0) }.flatMap { $0.object == nil ? nil : $0 }
          ?? .object([:])
      }
      return .object(
        Dictionary(
          uniqueKeysWithValues: members.map {
            ($0.key, value(of: $0.value, member: $0.key, in: component))
          }))
    }
  }

  private static func string(_ schema: JSONValue, _ text: String?) -> JSONValue {
    if let words = schema["enum"]?.array {
      return words.first { $0.string == text } ?? words.first ?? .null
    }
    switch schema["format"]?.string {
    case "uuid": return .string(id)
    case "date-time": return .string(time)
    case "date": return .string(date)
    default: return .string(text ?? "…")
    }
  }

  private static func number(_ schema: JSONValue, _ text: String?) -> JSONValue {
    let least = schema["minimum"]?.int ?? 0
    guard let text, let number = Double(text), number >= Double(least) else {
      return .int(max(least, 1))
    }
    return .number(text)
  }

  // MARK: Errors

  /// Error responses by status and type, as the gateway sends them.
  static let problems: [Int: [JSONValue]] = Dictionary(
    grouping: [
      .missing("body"), .json(.malformed), .wrongIdempotencyKey, .foreignCursor,
      .unauthenticated, .forbidden(.admin), .insufficientScope(.conversationsWrite), .operatorsOnly,
      .crossSite, .noSuchSession, .noSuchResource, .closed,
      .claimed(by: (Identifier(id) ?? Identifier(high: 0, low: 0), "Mika Sato")), .atCapacity(5),
      .assistOff, .idConflict, .noSuchVisitor, .noSuchOtherVisitor, .twoIdentities,
      .visitorIsFull(20), .idempotencyRunning,
      .conflict(
        "Another request has created or deleted something with this name. Read the current state, "
          + "then try again."), .tooMany("tags", 500),
      .alreadyExists, .bodyTooLarge, .unsupportedMediaType, .refusedValue,
      .idempotencyConflict, .rateLimited(afterSeconds: 12, limit: "key"), .unavailable,
      .tookTooLong, .rangeOutside,
    ] as [Problem], by: \.status
  ).mapValues { problems in problems.compactMap { JSONValue($0.response().body) } }
}
