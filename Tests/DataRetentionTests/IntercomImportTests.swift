import DataRetention
import Fixtures
import Migrator
import Postgres
import Primitives
import Testing

/// The import of objects of Intercom's REST API. Tests/EndToEnd/import_intercom.sh downloads them.
@Suite struct IntercomImportTests {
  private let target: ImportTarget
  private var connection: BlockingConnection { target.connection }

  init() throws { target = try ImportTarget() }

  private static func part(_ id: Int, _ type: String, _ body: String?, _ more: String) -> String {
    #"{"type":"conversation_part","id":"\#(id)","part_type":"\#(type)","#
      + #""body":\#(body.map { "\"\($0)\"" } ?? "null"),"created_at":\#(1_709_251_200 + id * 60),"#
      + more + "}"
  }

  private static let dana =
    #""author":{"type":"admin","id":"1","name":"Dana","email":"dana@bikes.example"}"#
  private static let vera =
    #""author":{"type":"user","id":"c1","name":"Vera","email":"vera@example.com"}"#
  private static let fin = #""author":{"type":"bot","id":"9","name":"Fin","email":"f@x.example"}"#

  private static func conversation(_ id: Int, _ more: String, parts: [String] = []) -> String {
    #"{"type":"conversation","id":"\#(id)","created_at":1709251200,"updated_at":1709258400,"#
      + #""source":{"type":"conversation","id":"\#(id)","body":"<p>line 1</p>",\#(vera),"#
      + #""url":"https://shop.example/cart"},"#
      + #""contacts":{"contacts":[{"type":"contact","id":"c1"}]},"#
      + #""conversation_parts":{"conversation_parts":[\#(parts.joined(separator: ","))]}\#(more)}"#
  }

  private static let files: [String: [String]] = [
    "admins.jsonl": [
      #"{"type":"admin","id":"1","name":"Dana","email":"dana@bikes.example"}"#,
      #"{"type":"admin","id":"2","name":"Omar Haddad","email":"omar@bikes.example"}"#,
      #"{"type":"admin","id":"3","name":"Operator","email":"operator+abc@intercom.io"}"#,
    ],
    "teams.jsonl": [#"{"type":"team","id":"11","name":"Sales","admin_ids":[1,99]}"#],
    "tags.jsonl": [#"{"type":"tag","id":"21","name":"refund"}"#],
    "macros.jsonl": [
      #"{"type":"macro","id":"31","name":"Order / status","body":"<p>Hello</p>"}"#
    ],
    "contacts.jsonl": [
      #"{"type":"contact","id":"c1","external_id":"customer-5","name":"Vera","created_at":1}"#,
      #"{"type":"contact","id":"c2","external_id":null,"name":"Zoë","email":"z@example.com","#
        + #""created_at":1709000000,"location":{"city":"Ghent"},"#
        + #""custom_attributes":{"plan":"gold"}}"#,
    ],
    "conversations.jsonl": [
      conversation(
        1,
        #","state":"closed","admin_assignee_id":2,"team_assignee_id":"11","tags":{"tags":"#
          + #"[{"type":"tag","id":"21","name":"refund"}]},"conversation_rating":{"rating":4,"#
          + #""remark":"Kind","created_at":1709258000,"teammate":{"type":"admin","id":"1"}}"#,
        parts: [
          part(
            1, "comment", #"<p>See <a href=\"https://x.example/?a=1&amp;b=2\">it</a></p>"#, dana),
          part(2, "note", "<p>psst</p>", dana), part(3, "comment", "<p>Bot</p>", fin),
          part(4, "assignment", nil, dana + #","assigned_to":{"type":"admin","id":"2"}"#),
          part(5, "assignment", "<p>only for us</p>", dana),
          part(6, "open", "<p>Thanks &lt;3</p>", vera),
          part(
            7, "comment", nil,
            vera + #","attachments":[{"name":"a.pdf","url":"https://x.example/a","filesize":9}]"#),
          part(8, "comment", "<p>gone</p>", vera + #","redacted":true"#),
          part(9, "fin_guidance_applied", nil, dana), part(10, "comment", "<p> </p>", vera),
          part(11, "close", nil, dana),
        ]),
      conversation(2, #","state":"snoozed","admin_assignee_id":1"#),
      conversation(3, #","open":true,"admin_assignee_id":77"#)
        .replacing(#""id":"c1"}]"#, with: #""id":"c9"}]"#),
    ],
  ]

  private func importer(
    _ files: [String: [String]] = files, isRun: Bool = true
  ) throws -> ConversationImport {
    try ConversationImport(
      target.storedData, workspace: target.workspace,
      fromIntercom: files.map { importFile($0.key, $0.value) }, installation: "default",
      isRun: isRun)
  }

  @Test func `a dry run counts what a run imports, and another run adds nothing`() throws {
    let planned = try target.expectImportedOnce { try importer(isRun: $0) }
    #expect(planned.members == 2 && planned.teams == 1 && planned.tags == 1)
    #expect(planned.cannedReplies == 1 && planned.visitors == 1 && planned.ratings == 1)
    #expect(planned.conversations == 3 && planned.messages == 10)
  }

  @Test func `parts keep author, time and kind; HTML becomes text with its addresses`() throws {
    var conversations = try importer()
    _ = try conversations.run()
    #expect(
      try target.log("intercom", "1") == [
        "1|visitor|text|false|00:00|line 1",
        "2|operator|text|Dana|true|00:01|See it (https://x.example/?a=1&b=2)",
        "3|operator|note|Dana|true|00:02|psst", "4|bot|text|Fin|false|00:03|Bot",
        "5|operator|note|Dana|true|00:05|only for us", "6|visitor|text|false|00:06|Thanks <3",
        "7|visitor|text|false|00:07|[file: a.pdf, 9 bytes, https://x.example/a]",
        "8|system|event|false|00:11|Closed by Dana",
      ])
    #expect(conversations.found["parts redacted in Intercom: not imported"] == ["8"])
    #expect(conversations.found["parts events of the team: not imported"] == ["4", "9"])
    #expect(conversations.found["parts without text: not imported"] == ["10"])
    #expect(
      conversations.found["conversations without a contact: imported without one"] == ["3"])
    #expect(conversations.found["conversations of a former member: in the queue"] == ["3"])
    #expect(conversations.found["conversations snoozed: imported as open"] == ["2"])
    #expect(
      try connection.texts(
        """
        SELECT concat_ws(' ', context #>> '{intercom,number}', status, operator_name, t.name,
          r.rating, r.comment, v.external_id, context ->> 'page')
        FROM chat_sessions s LEFT JOIN chat_teams t ON t.id = s.team_id
        LEFT JOIN csat_responses r ON r.session_id = s.id
        LEFT JOIN visitors v ON v.id = s.user_id ORDER BY 1
        """) == [
          "1 closed Omar H. Sales 4 Kind customer-5 https://shop.example/cart",
          "2 active Dana customer-5 https://shop.example/cart",
          "3 waiting https://shop.example/cart",
        ])
    #expect(
      try connection.texts(
        """
        SELECT concat_ws(' ', o.email, m.role, (o.password_hash IS NULL)::text, (SELECT count(*)
          FROM chat_team_members t WHERE t.operator_id = o.id))
        FROM memberships m JOIN operators o ON o.id = m.operator_id ORDER BY 1
        """) == ["dana@bikes.example agent true 1", "omar@bikes.example agent true 0"])
    #expect(
      try connection.texts("SELECT shortcut || payload FROM reply_objects") == [
        #"order-status{"text": "Hello"}"#
      ])
  }

  @Test func `what is no whole download is refused, and nothing is imported`() throws {
    let before = try target.contents()
    for (name, line, reason) in [
      ("contacts.jsonl", "{", "contacts.jsonl, line 1: not a JSON object"),
      ("contacts.jsonl", #"{"type":"contact"}"#, #"line 1: "id" is missing"#),
      ("tags.jsonl", #"{"type":"tag.list","data":[]}"#, "tags.jsonl, line 1: not a tag"),
      (
        "conversations.jsonl", #"{"type":"conversation","id":"1","created_at":1,"source":{}}"#,
        #""conversation_parts" is missing"#
      ),
    ] {
      var files = Self.files
      files[name] = [line]
      let refusal = #expect(throws: ImportRefusal.self) { try importer(files) }
      #expect(refusal?.description.contains(reason) == true, "\(refusal?.description ?? "")")
    }
    var files = Self.files
    files["conversations.jsonl"] = nil
    #expect(throws: ImportRefusal.missingFile("conversations.jsonl")) { try importer(files) }
    #expect(try target.contents() == before)
  }

  @Test func `damaged files are refused or imported, and never trap`() throws {
    var damage = Damage(seed: 20_270_425)
    var refused = 0
    for _ in 0..<120 {
      var files = Self.files.mapValues { $0.map { Array($0.utf8) } }
      let name = files.keys.sorted().randomElement(using: &damage) ?? ""
      let place = Int.random(in: 0..<(files[name]?.count ?? 1), using: &damage)
      files[name]?[place] = damage.damage(Self.files[name]?[place] ?? "{}")
      let given = files.map { name, lines in
        var rest = lines[...]
        return ImportFile(name: name) { rest.popFirst() }
      }
      do {
        var conversations = try ConversationImport(
          target.storedData, workspace: target.workspace, fromIntercom: given,
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
