import DataRetention
import Fixtures
import Migrator
import Postgres
import Primitives
import Testing

/// The import of what config/live-helper-chat.sql writes. Tests/EndToEnd/import_live_helper_chat.sh
/// lets a MariaDB write it.
@Suite struct LiveHelperChatImportTests {
  private let target: ImportTarget
  private var connection: BlockingConnection { target.connection }

  init() throws { target = try ImportTarget() }

  private static let begin = #"{"table":"export","system":"live-helper-chat","format":1}"#
  private static let end = #"{"table":"end","id":0}"#

  private static func chat(_ id: Int, _ more: String) -> String {
    #"{"table":"lh_chat","id":\#(id),"nick":"Visitor \#(id)","status":2,"time":1709251200,"#
      + #""closed":1709254800,"visitor_at":0,"operator_at":0,"user":0,"department":1,"email":"","#
      + #""phone":"","city":"","country":"","locale":"","referrer":"","remarks":"","vote":0,"#
      + #""online_user":0,"additional_data":"","chat_variables":""\#(more)}"#
  }

  private static func message(
    _ id: Int, chat: Int, user: Int, _ text: String, meta: String = "", name: String = ""
  ) -> String {
    #"{"table":"lh_msg","id":\#(id),"chat":\#(chat),"time":\#(1_709_251_200 + id * 60),"#
      + #""user":\#(user),"name":"\#(name)","msg":"\#(text)","meta_msg":"\#(meta)"}"#
  }

  private static let whisper = #"{\"content\":{\"whisper\":true}}"#

  private static let body: [String] = [
    #"{"table":"lh_users","id":1,"email":"Dana@Bikes.example","name":"Dana","disabled":0,"#
      + #""administrator":1}"#,
    #"{"table":"lh_users","id":2,"email":"omar@bikes.example","name":"Omar Haddad","disabled":0,"#
      + #""administrator":0}"#,
    #"{"table":"lh_users","id":3,"email":"","name":"Nobody","disabled":0,"administrator":0}"#,
    #"{"table":"lh_users","id":4,"email":"gone@bikes.example","name":"Gone","disabled":1,"#
      + #""administrator":0}"#,
    #"{"table":"lh_departament","id":1,"name":"Sales","disabled":0}"#,
    #"{"table":"lh_departament","id":2,"name":"Old","disabled":1}"#,
    #"{"table":"lh_userdep","id":"1:2","department":1,"user":2}"#,
    #"{"table":"lh_userdep","id":"1:4","department":1,"user":4}"#,
    #"{"table":"lh_abstract_subject","id":1,"name":"refund","color":"ff00aa"}"#,
    #"{"table":"lh_canned_msg","id":1,"title":"Order status","msg":"[b]Hello[/b]"}"#,
    #"{"table":"lh_canned_msg","id":2,"title":"Order status","msg":"Again"}"#,
    chat(1, #","user":2,"remarks":"Calls on Mondays","vote":1"#),
    chat(2, #","status":1,"user":2,"email":"Vera@example.com","online_user":7"#),
    chat(3, #","status":0,"email":"vera@example.com","phone":"+1555""#),
    chat(4, #","status":5,"online_user":7"#),
    chat(5, #","status":1,"user":4,"online_user":7"#),
    chat(
      6,
      #","chat_variables":"{\"customer\":\"customer-5\"}","additional_data":"#
        + #""[{\"identifier\":\"plan\",\"key\":\"Plan\",\"value\":\"gold\"}]""#),
    #"{"table":"lh_abstract_subject_chat","id":"1:1","chat":1,"subject":1}"#,
    #"{"table":"lh_abstract_survey_item","id":1,"chat":2,"user":2,"time":1709300000,"stars":4,"#
      + #""scale":5,"comment":"Kind"}"#,
    #"{"table":"lh_abstract_survey_item","id":2,"chat":3,"user":2,"time":1709300000,"stars":9,"#
      + #""scale":10,"comment":""}"#,
    #"{"table":"lh_chat_file","id":12,"chat":1,"name":"receipt.png","size":48210}"#,
    message(1, chat: 1, user: 0, "[file=12_5f3a_img] [file=99_1]"),
    message(2, chat: 1, user: 2, "[b]See[/b] [url=https://shop.example]shop[/url]", name: "Omar"),
    message(3, chat: 1, user: 2, "psst", meta: whisper, name: "Omar"),
    message(4, chat: 1, user: -1, "Omar has accepted"),
    message(5, chat: 1, user: -2, "I am a bot"), message(6, chat: 1, user: 0, ""),
    message(7, chat: 2, user: 0, #"NUL\u0000 and \\u0000 stays"#),
    message(8, chat: 6, user: 0, "of a customer"), message(9, chat: 77, user: 0, "of no chat"),
  ]

  private func importer(
    _ lines: [String] = [begin] + body + [end], isRun: Bool = true, since: WallTime? = nil
  ) throws -> ConversationImport {
    try ConversationImport(
      target.storedData, workspace: target.workspace,
      fromLiveHelperChat: importFile("lhc.jsonl", lines), installation: "default",
      identity: "customer", since: since, isRun: isRun)
  }

  @Test func `a dry run counts what a run imports, and another run adds nothing`() throws {
    let planned = try target.expectImportedOnce { try importer(isRun: $0) }
    #expect(planned.members == 2 && planned.teams == 1 && planned.tags == 1)
    #expect(planned.cannedReplies == 2 && planned.ratings == 2)
    #expect(planned.conversations == 6 && planned.messages == 8)
    // Two chats have one address, two one browser, and one is of a known visitor.
    #expect(planned.visitors == 3)
    #expect(
      try connection.number(
        "SELECT count(*) FROM audit_log WHERE action = 'live_helper_chat.imported'") == 1)
  }

  @Test func `messages keep author, time and kind; markup becomes text`() throws {
    var conversations = try importer()
    _ = try conversations.run()
    #expect(
      try target.log("live_helper_chat", "1") == [
        "1|visitor|text|false|00:01|[file: receipt.png, 48210 bytes] [file]",
        "2|operator|text|Omar|true|00:02|See shop (https://shop.example)",
        "3|operator|note|Omar|true|00:03|psst", "4|system|event|false|00:04|Omar has accepted",
        "5|bot|text|false|00:05|I am a bot", "6|operator|note|false|01:00|Calls on Mondays",
      ])
    #expect(
      try target.log("live_helper_chat", "2") == [
        #"1|visitor|text|false|00:07|NUL and \u0000 stays"#
      ])
    #expect(conversations.found["lh_msg without text: not imported"] == ["6"])
    #expect(conversations.found["lh_users without a valid e-mail address: not imported"] == ["3"])
    #expect(conversations.found["ratings of an unknown rating: not imported"] == ["3"])
    #expect(conversations.found["lh_chat with a bot: imported as open"] == ["4"])
    #expect(conversations.found["lh_chat of a former member: in the queue"] == ["5"])
    #expect(
      conversations.found["visitors is a visitor with this identifier: joined"] == ["chat 6"])
  }

  @Test func `people, departments and states are those of Live Helper Chat`() throws {
    var conversations = try importer()
    _ = try conversations.run()
    #expect(
      try connection.texts(
        """
        SELECT concat_ws(' ', context #>> '{live_helper_chat,number}', status, operator_name,
          t.name, r.rating, r.comment)
        FROM chat_sessions s LEFT JOIN chat_teams t ON t.id = s.team_id
        LEFT JOIN csat_responses r ON r.session_id = s.id ORDER BY 1
        """) == [
          "1 closed Omar H. Sales 5", "2 active Omar H. Sales 4 Kind", "3 waiting Sales",
          "4 waiting Sales", "5 waiting Sales", "6 closed Sales",
        ])
    #expect(
      try connection.texts(
        """
        SELECT concat_ws(' ', o.email, m.role, (o.password_hash IS NULL)::text, (SELECT count(*)
          FROM chat_team_members t WHERE t.operator_id = o.id))
        FROM memberships m JOIN operators o ON o.id = m.operator_id ORDER BY 1
        """) == ["dana@bikes.example admin true 0", "omar@bikes.example agent true 1"])
    #expect(
      try connection.texts(
        """
        SELECT concat_ws(' ', name, external_id, email, attributes::text, (SELECT count(*)
          FROM chat_sessions s WHERE s.user_id = v.id)) FROM visitors v ORDER BY 1
        """) == [
          "Known customer-5 {} 1", "Visitor 1 {} 1",
          #"Visitor 3 vera@example.com {"phone": "+1555"} 2"#, "Visitor 5 {} 2",
        ])
    #expect(
      try connection.texts("SELECT shortcut || payload FROM reply_objects ORDER BY 1") == [
        #"order-status-2{"text": "Again"}"#, #"order-status{"text": "Hello"}"#,
      ])
    #expect(try connection.texts("SELECT name || colour FROM tags") == ["refund#ff00aa"])
  }

  @Test func `a later export adds what is new, and a deleted team stays deleted`() throws {
    var first = try importer()
    _ = try first.run()
    try connection.execute(script: "DELETE FROM chat_teams")
    let more = Self.body + [Self.message(99, chat: 1, user: 0, "late")]
    var second = try importer([Self.begin] + more + [Self.end])
    let added = try second.run()
    #expect(added.messages == 1 && added.conversations == 0 && added.teams == 0)
    #expect(try target.log("live_helper_chat", "1").last == "7|visitor|text|false|01:39|late")
    #expect(try connection.number("SELECT count(*) FROM chat_teams") == 0)
    #expect(
      second.found["lh_departament deleted in Chirrup, or too many: not imported"] == ["1"])
  }

  @Test func `only conversations since a day are imported, with their visitors`() throws {
    let more = [
      Self.chat(50, #","closed":1709900000,"email":"late@example.com""#),
      Self.message(50, chat: 50, user: 0, "new"),
    ]
    let since = WallTime(microseconds: 1_709_900_000 * 1_000_000)
    var conversations = try importer([Self.begin] + Self.body + more + [Self.end], since: since)
    let summary = try conversations.run()
    #expect(summary.conversations == 1 && summary.visitors == 1 && summary.messages == 1)
    #expect(try connection.texts("SELECT content FROM chats") == ["new"])
  }

  @Test func `what is no whole export is refused with its line, and nothing is imported`() throws {
    let before = try target.contents()
    for (lines, reason) in [
      ([], "lhc.jsonl ends before its last line"),
      ([Self.begin] + Self.body, "lhc.jsonl ends before its last line"),
      (Self.body, "line 1: not the first line of an export that this version reads"),
      ([#"{"table":"export","system":"live-helper-chat","format":2}"#], "line 1: not the first"),
      ([Self.begin, "NULL", Self.end], "line 2: not a JSON object"),
      ([Self.begin, #"{"table":"lh_other","id":1}"#], "line 2: not a line of a table"),
      ([Self.begin, Self.chat(1, #","time":null"#)], #"line 2: "time" is missing"#),
      ([Self.begin, #"{"table":"lh_msg","id":1,"user":0,"msg":"x"}"#], #""chat" is missing"#),
      ([Self.begin, Self.end, Self.end], "line 3: after the export's last line"),
    ] {
      let refusal = #expect(throws: ImportRefusal.self) { try importer(lines) }
      #expect(refusal?.description.contains(reason) == true, "\(refusal?.description ?? "")")
    }
    #expect(try target.contents() == before)
  }

  @Test func `a damaged export is refused or imported, and never traps`() throws {
    var damage = Damage(seed: 20_270_425)
    var refused = 0
    for _ in 0..<120 {
      var lines = ([Self.begin] + Self.body + [Self.end]).map { Array($0.utf8) }
      let place = Int.random(in: 0..<lines.count, using: &damage)
      lines[place] = damage.damage(String(decoding: lines[place], as: UTF8.self))
      var rest = lines[...]
      do {
        var conversations = try ConversationImport(
          target.storedData, workspace: target.workspace,
          fromLiveHelperChat: ImportFile(name: "lhc.jsonl") { rest.popFirst() },
          installation: "default", isRun: false)
        _ = try conversations.run()
      } catch is ImportRefusal {
        refused += 1
      }
    }
    #expect(refused > 30 && refused < 120)
    #expect(try connection.number("SELECT count(*) FROM chats") == 0)
  }
}
