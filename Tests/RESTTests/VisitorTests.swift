import Chat
import Directory
import DomainFixtures
import Foundation
import JSON
import OpenSSL
import Postgres
import Primitives
import Synchronization
import Testing
import Tokens

@testable import REST

/// The requests of a visitor.
struct VisitorWorld {
  let world: World
  let secret: String

  init(_ options: APIOptions = APIOptions()) async throws {
    world = try await World(options)
    let made = try await world.call(
      "POST", "/api/v1/admin/identity-secrets", as: try await world.member(.owner), json: "{}")
    secret = try #require(made.string("secret"), "\(made.body)")
  }

  func after(_ days: Int64, seconds: Int64 = 0) -> WallTime {
    WallTime(microseconds: World.now.microseconds + (days * 86_400 + seconds) * 1_000_000)
  }

  func token(_ members: String = "", now: WallTime = World.now) async -> Answer {
    await world.send(
      "POST", "/api/v1/widget/token", [],
      #"{"workspace":"\#(world.workspace.publicKey)"\#(members)}"#, now: now)
  }

  /// Signed by the host site.
  func identity(_ claims: String, by key: String? = nil) -> String {
    let signed =
      Base64.url.encode(Array(#"{"alg":"HS256"}"#.utf8)) + "."
      + Base64.url.encode(Array("{\(claims),\"exp\":1895000000}".utf8))
    let code = HMACSHA256.code(for: Array(signed.utf8), key: Array((key ?? secret).utf8))
    return signed + "." + Base64.url.encode(code)
  }

  func call(
    _ method: String, _ path: String, _ visitor: Answer, json: String? = nil
  ) async throws -> Answer {
    var headers = [("Authorization", "Bearer \(try #require(visitor.string("token")))")]
    if json != nil { headers.append(("Content-Type", "application/json")) }
    return await world.send(method, "/api/v1/widget/\(path)", headers, json)
  }

  /// The events of the answer's visitor, oldest first.
  func events(_ answer: Answer) async throws -> [String] {
    let id = try #require(answer.string("visitor.id").flatMap { Identifier($0) })
    let rows = try await world.database.run(
      FriendEvents.page(of: id, in: world.workspace.id, after: nil, limit: 100))
    return (0..<rows.count).reversed().compactMap { rows.text($0, 1) }
  }

  func session(_ answer: Answer) throws -> Identifier {
    try #require(answer.string("session").flatMap { Identifier($0) })
  }
}

@Suite struct IdentityTests {
  @Test("a signed identity is the same visitor on every device")
  func devices() async throws {
    let test = try await VisitorWorld()
    let ada = #","identity":"\#(test.identity(#""sub":"7","name":"Ada","email":"a@b.example""#))""#
    let first = await test.token(ada)
    #expect(first.status == 200)
    #expect(first.string("visitor.name") == "Ada")
    let second = await test.token(ada)
    #expect(second.string("visitor.id") == first.string("visitor.id"))
    #expect(second.string("session") == first.string("session"))
    #expect(second.string("refresh") != first.string("refresh"))
    let other = await test.token(#","identity":"\#(test.identity(#""sub":"8""#))""#)
    #expect(other.string("visitor.id") != first.string("visitor.id"))
    #expect(other.string("session") != first.string("session"))
  }

  @Test("a visitor who logs in on the host site keeps the conversation")
  func adopted() async throws {
    let test = try await VisitorWorld()
    let stranger = await test.token()
    let refresh = #","refresh":"\#(stranger.string("refresh") ?? "")""#
    let identity = #","identity":"\#(test.identity(#""sub":"9","name":"Mia""#))""#
    let known = await test.token(refresh + identity)
    #expect(known.string("visitor.id") == stranger.string("visitor.id"))
    #expect(known.string("session") == stranger.string("session"))
    #expect(known.string("visitor.name") == "Mia")
    #expect(known["fresh"] == nil)
    let elsewhere = await test.token(identity)
    #expect(elsewhere.string("visitor.id") == stranger.string("visitor.id"))
  }

  @Test("an external id counts as signed only after a browser came with a signed identity")
  func unsigned() async throws {
    let test = try await VisitorWorld()
    let owner = try await test.world.member(.owner)
    let path = "/api/v1/admin/live-chat/conversations"
    let opened = try await test.world.call(
      "POST", path, as: owner, json: #"{"visitor":{"external_id":"c-1","name":"Ada"}}"#)
    #expect(opened["conversation.visitor.is_identified"] as? Bool == false)
    let id = try #require(opened.string("conversation.visitor.id"))
    let signed = await test.token(#","identity":"\#(test.identity(#""sub":"c-1""#))""#)
    #expect(signed.string("visitor.id") == id)
    let shown = try await test.world.call("GET", "/api/v1/admin/visitors/\(id)", as: owner)
    #expect(shown["visitor.is_identified"] as? Bool == true)
    #expect(try await test.events(signed).count == 1)
    let stranger = await test.token()
    let other = try await test.world.call(
      "GET", "/api/v1/admin/visitors/\(stranger.string("visitor.id") ?? "")", as: owner)
    #expect(other["visitor.is_identified"] as? Bool == false)
  }

  @Test("on a shared computer the next identity does not get the former conversation (A10)")
  func shared() async throws {
    let test = try await VisitorWorld()
    let one = await test.token(#","identity":"\#(test.identity(#""sub":"1""#))""#)
    let refresh = #","refresh":"\#(one.string("refresh") ?? "")""#
    let two = await test.token(refresh + #","identity":"\#(test.identity(#""sub":"2""#))""#)
    #expect(two.status == 200)
    #expect(two.string("visitor.id") != one.string("visitor.id"))
    #expect(two.string("session") != one.string("session"))
    #expect(two["fresh"] as? Bool == true)
    let verified = try test.world.tokens.verify(
      Array((two.string("token") ?? "").utf8), now: World.now)
    #expect(verified.principal.id.description == two.string("visitor.id"))
  }

  @Test("an invalid identity is refused and creates no visitor (A13)")
  func refused() async throws {
    let test = try await VisitorWorld()
    let foreign = try await VisitorWorld()
    let good = test.identity(#""sub":"7""#)
    for identity in [
      "", "x", String(good.dropLast(3)), test.identity(#""sub":"7""#, by: foreign.secret),
      test.identity(#""sub":"7""#, by: ""), test.identity(#""name":"Ada""#),
    ] {
      let answer = await test.token(#","identity":"\#(identity)""#)
      #expect(answer.status == 403)
      #expect(answer.problem == "bad_identity")
    }
    let count = try await test.world.database.run(
      Query(
        "SELECT count(*) FROM visitors WHERE workspace_id = $1::uuid",
        [.uuid(test.world.workspace.id)]))
    #expect(count.int(0, 0) == 0)
  }

  @Test("a gateway without the key of an identity secret says so once, until it has the key again")
  func lackingKey() async throws {
    var options = APIOptions()
    options.secrets = SecretBox(configured: ["one"], signingKey: [1])
    let test = try await VisitorWorld(options)
    let world = test.world
    let lines = Mutex<[String]>([])
    options.secrets = SecretBox(configured: ["another"], signingKey: [1])
    options.report = { line in lines.withLock { $0.append(line) } }
    let lacking = API(
      database: world.database, sessions: world.sessions, tokens: world.tokens, options: options)
    func enter(_ identity: String, _ api: API) async -> Answer {
      let body = #"{"workspace":"\#(world.workspace.publicKey)","identity":"\#(identity)"}"#
      return Answer(
        await api.handle(
          APIRequest(
            method: "POST", path: "/api/v1/widget/token", query: "", headers: [],
            body: Array(body.utf8), peer: "192.0.2.1", now: World.now, isSecure: false)))
    }
    let identity = test.identity(#""sub":"7""#)
    #expect(await enter(identity, world.api).status == 200)
    for _ in 1...3 { #expect(await enter(identity, lacking).problem == "bad_identity") }
    let first = lines.withLock { $0 }
    #expect(first.count == 1)
    #expect(first[0].contains("\(world.workspace.id)") && first[0].contains("credentials_key"))
    #expect(first[0].contains("chirrup identity rotate") && !first[0].contains(test.secret))
    // A further secret that it cannot decrypt, then none any more.
    let owner = try await world.member(.owner)
    _ = try await world.call("POST", "/api/v1/admin/identity-secrets", as: owner, json: "{}")
    for _ in 1...2 { _ = await enter(identity, lacking) }
    #expect(lines.withLock { $0.count == 2 && $0[1].hasPrefix("now other identity secrets") })
    try world.database.asOwner(
      Query(
        "DELETE FROM identity_secrets WHERE workspace_id = $1::uuid", [.uuid(world.workspace.id)]))
    for _ in 1...2 { _ = await enter(identity, lacking) }
    #expect(lines.withLock { $0.count == 3 && $0[2].hasSuffix("can be decrypted again") })
  }

  @Test("simultaneous devices with one identity are one visitor")
  func race() async throws {
    let test = try await VisitorWorld()
    let ada = #","identity":"\#(test.identity(#""sub":"r""#))""#
    let answers = await withTaskGroup(of: Answer.self) { group in
      for _ in 1...5 { group.addTask { await test.token(ada) } }
      return await group.reduce(into: [Answer]()) { $0.append($1) }
    }
    #expect(answers.allSatisfy { $0.status == 200 })
    #expect(Set(answers.compactMap { $0.string("visitor.id") }).count == 1)
    #expect(try await test.events(answers[0]) == ["follow"])
  }

  @Test("a blocked identity remains blocked on other devices")
  func banned() async throws {
    let test = try await VisitorWorld()
    let ada = #","identity":"\#(test.identity(#""sub":"b""#))""#
    let first = await test.token(ada)
    let id = try #require(first.string("visitor.id").flatMap { Identifier($0) })
    #expect(
      try await test.world.database.ask(
        Visitor.setBlocked(
          id, true, by: test.world.actor, now: World.now)) == true)
    #expect(await test.token(ada).problem == "banned")
  }
}

@Suite struct FriendEventTests {
  @Test("the first visit and a return after a month are events; an earlier return is not")
  func months() async throws {
    let test = try await VisitorWorld()
    var visit = await test.token()
    #expect(try await test.events(visit) == ["follow"])
    for (day, events) in [
      (1, ["follow"]), (30, ["follow"]), (60, ["follow", "refollow"]),
      (61, ["follow", "refollow"]),
    ] as [(Int64, [String])] {
      let next = await test.token(
        #","refresh":"\#(visit.string("refresh") ?? "")""#, now: test.after(day))
      #expect(next.string("visitor.id") == visit.string("visitor.id"))
      #expect(try await test.events(next) == events, "day \(day)")
      visit = next
    }
  }

  @Test("a block is recorded once, and a return after it is an event")
  func blocks() async throws {
    let test = try await VisitorWorld()
    let visit = await test.token()
    let id = try #require(visit.string("visitor.id").flatMap { Identifier($0) })
    func setBlocked(_ isBlocked: Bool, _ seconds: Int64) async throws -> Bool? {
      try await test.world.database.ask(
        Visitor.setBlocked(
          id, isBlocked, by: test.world.actor, now: test.after(0, seconds: seconds)))
    }
    #expect(try await setBlocked(true, 1) == true)
    #expect(try await setBlocked(true, 2) == false)
    #expect(try await setBlocked(false, 3) == true)
    #expect(try await setBlocked(false, 4) == false)
    let foreign = try await World()
    #expect(
      try await test.world.database.ask(
        Visitor.setBlocked(
          id, true, by: foreign.actor, now: World.now)) == nil)
    let refresh = #","refresh":"\#(visit.string("refresh") ?? "")""#
    let back = await test.token(refresh, now: test.after(0, seconds: 10))
    #expect(back.status == 200)
    _ = await test.token(refresh, now: test.after(0, seconds: 11))
    #expect(try await test.events(visit) == ["follow", "block", "unblock", "refollow"])
  }
}

@Suite struct VisitorCallTests {
  @Test("visitors change their own profiles within limits")
  func profile() async throws {
    let test = try await VisitorWorld()
    let visit = await test.token(#","attributes":{"plan":"pro","seats":3}"#)
    let answer = try await test.call(
      "PUT", "profile", visit,
      json: #"{"name":" Ada ","email":"ada@example.com","attributes":{"trial":false,"seats":4}}"#)
    #expect(answer.status == 200)
    #expect(answer.string("visitor.name") == "Ada")
    #expect(answer.string("visitor.email") == "ada@example.com")
    #expect(answer.string("visitor.attributes.plan") == "pro")
    #expect(answer.int("visitor.attributes.seats") == 4)
    #expect(answer["visitor.attributes.trial"] as? Bool == false)
    #expect(test.world.sessions.hints.withLock { $0.count } > 1)
    let kept = try await test.call("PUT", "profile", visit, json: #"{"attributes":{}}"#)
    #expect(kept.string("visitor.name") == "Ada")
    let many = (1...32).map { #""k\#($0)":\#($0)"# }.joined(separator: ",")
    let full = try await test.call("PUT", "profile", visit, json: #"{"attributes":{\#(many)}}"#)
    #expect(full.int("visitor.attributes.k1") == nil, "35 would be too many")
    for refused in [
      #"{"email":"nobody"}"#, #"{"email":"a@b c"}"#, #"{"name":7}"#, #"{"attributes":[]}"#,
      #"{"attributes":{"a":null}}"#, #"{"attributes":{"a":{}}}"#, #"{"attributes":{"":1}}"#,
      #"{"attributes":{\#(many),"z":1}}"#,
      #"{"attributes":{"a":"\#(String(repeating: "x", count: 513))"}}"#, "[]",
    ] {
      #expect(
        try await test.call("PUT", "profile", visit, json: refused).status == 400, "\(refused)")
    }
  }

  @Test("a page cannot change the name of a signed identity")
  func signedProfile() async throws {
    let test = try await VisitorWorld()
    let visit = await test.token(#","identity":"\#(test.identity(#""sub":"p","name":"Ada""#))""#)
    let answer = try await test.call("PUT", "profile", visit, json: #"{"name":"Eve"}"#)
    #expect(answer.string("visitor.name") == "Ada")
  }

  @Test("a conversation has one rating, the last; each is an entry of the log")
  func rating() async throws {
    let test = try await VisitorWorld()
    let visit = await test.token()
    let session = try test.session(visit)
    let path = "sessions/\(session)/rating"
    for (json, lines) in [
      (#"{"rating":2}"#, 1), (#"{"rating":2}"#, 1), (#"{"rating":5,"comment":" Thanks "}"#, 2),
    ] {
      let answer = try await test.call("PUT", path, visit, json: json)
      #expect(answer.status == 204)
      let rows = try await test.world.database.run(
        Query("SELECT payload::text FROM chats WHERE session_id = $1::uuid", [.uuid(session)]))
      #expect(rows.count == lines)
    }
    let rows = try await test.world.database.run(
      Query(
        "SELECT rating, comment FROM csat_responses WHERE session_id = $1::uuid", [.uuid(session)]))
    #expect(rows.count == 1)
    #expect(rows.int(0, 0) == 5)
    #expect(rows.text(0, 1) == "Thanks")
    for json in [#"{"rating":0}"#, #"{"rating":6}"#, #"{"rating":"5"}"#, #"{"rating":1.5}"#, "{}"] {
      #expect(try await test.call("PUT", path, visit, json: json).status == 400, "\(json)")
    }
    let head = try await test.world.database.run(
      Query("SELECT last_seq FROM chat_sessions WHERE id = $1::uuid", [.uuid(session)]))
    #expect(head.int(0, 0) == 2)
  }

  @Test("a comment has at most 2,000 characters of any script; a blank one counts as missing")
  func commentLimit() async throws {
    let test = try await VisitorWorld()
    let visit = await test.token()
    let session = try test.session(visit)
    for (comment, status, kept) in [
      (String(repeating: "🙏", count: 2_000), 204, 2_000 as Int64?),
      (String(repeating: "a", count: 2_001), 400, 2_000), ("   ", 204, nil),
    ] {
      let answer = try await test.call(
        "PUT", "sessions/\(session)/rating", visit, json: #"{"rating":4,"comment":"\#(comment)"}"#)
      #expect(answer.status == status)
      let rows = try await test.world.database.run(
        Query(
          "SELECT length(comment) FROM csat_responses WHERE session_id = $1::uuid",
          [.uuid(session)]))
      #expect(rows.count == 1 && rows.int(0, 0) == kept)
    }
  }

  @Test("visitors can rate and read only their own conversations (A08)")
  func foreign() async throws {
    let test = try await VisitorWorld()
    let mine = await test.token()
    let other = await test.token()
    let session = try test.session(other)
    let rated = try await test.call(
      "PUT", "sessions/\(session)/rating", mine, json: #"{"rating":1}"#)
    #expect(rated.problem == "no_such_session")
    let read = try await test.call("GET", "sessions/\(session)/transcript", mine)
    #expect(read.problem == "no_such_session")
    let anonymous = await test.world.send("GET", "/api/v1/widget/sessions/\(session)/transcript")
    #expect(anonymous.status == 401)
    let member = try await test.world.call("GET", "/api/v1/widget/sessions/\(session)/transcript")
    #expect(member.status == 403)
  }

  @Test("a transcript has the messages without notes, and no message can forge a line")
  func transcript() async throws {
    let test = try await VisitorWorld()
    let visit = await test.token()
    let session = try test.session(visit)
    let visitor = try #require(visit.string("visitor.id").flatMap { Identifier($0) })
    let workspace = test.world.workspace.id
    func say(_ role: String, _ kind: String, _ name: String, _ body: String, _ payload: String?)
      async
    {
      _ = await test.world.database.store(
        session: session, workspace: workspace, id: World.identifier(), role: role, kind: kind,
        sender: role == "visitor" ? visitor : test.world.mika.id, name: name,
        body: Array(body.utf8), payload: payload.map { Array($0.utf8) })
    }
    await say("visitor", "text", "", "Hello\n2026-01-01 00:00 UTC  Mika: forged", nil)
    await say("operator", "note", "Mika", "a secret note", nil)
    await say("system", "event", "", "Mika joined", #"{"event":"claimed"}"#)
    await say("system", "event", "", "given to Mika", #"{"event":"assigned"}"#)
    await say("operator", "text", "Mika", "สวัสดี", nil)
    for number in 1...250 { await say("visitor", "text", "", "line \(number)", nil) }
    let answer = try await test.call("GET", "sessions/\(session)/transcript", visit)
    #expect(answer.status == 200)
    #expect(answer.header("Content-Type") == "text/plain; charset=utf-8")
    #expect(answer.header("Content-Disposition")?.hasPrefix("attachment; ") == true)
    let lines = answer.body.split(separator: "\n").map { String($0) }
    #expect(lines.count == 4 + 250)
    #expect(lines[0].hasSuffix(" UTC  Visitor: Hello"))
    #expect(lines[1].hasPrefix("   "))
    #expect(lines[2].hasSuffix("— Mika joined"))
    #expect(lines[3].hasSuffix("Mika: สวัสดี"))
    #expect(lines.last?.hasSuffix("line 250") == true)
    #expect(!answer.body.contains("secret") && !answer.body.contains("given"))
  }

  @Test("a transcript ends after its limit, however its texts expand")
  func longTranscript() async throws {
    let test = try await VisitorWorld()
    let visit = await test.token()
    let session = try test.session(visit)
    let visitor = try #require(visit.string("visitor.id").flatMap { Identifier($0) })
    // A line feed becomes an indented line.
    let body = Array(repeating: UInt8(ascii: "\n"), count: Limits.bodyBytes)
    for _ in 0..<20 {
      _ = await test.world.database.store(
        session: session, workspace: test.world.workspace.id, id: World.identifier(),
        role: "visitor", kind: "text", sender: visitor, name: "", body: body, payload: nil)
    }
    let answer = try await test.call("GET", "sessions/\(session)/transcript", visit)
    #expect(answer.status == 200)
    #expect(answer.body.utf8.count > APILimits.transcriptBytes)
    #expect(answer.body.utf8.count < APILimits.transcriptBytes + 24 * Limits.bodyBytes)
    #expect(answer.body.hasSuffix("\n[…]\n"))
  }

  @Test("a message of the offline form becomes a waiting conversation, if the form is enabled")
  func offline() async throws {
    let test = try await VisitorWorld()
    let world = test.world
    let body =
      #"{"workspace":"\#(world.workspace.publicKey)","name":"Ada","email":"ada@example.com","#
      + #""message":"Call me"}"#
    func leave(_ body: String) async -> Answer {
      await world.send(
        "POST", "/api/v1/widget/offline", [("Content-Type", "application/json")], body)
    }
    #expect(await leave(body).problem == "offline_disabled")
    _ = try await world.database.ask(
      WorkspaceSettings.store(
        .offline, .object(["enabled": .bool(true)]), workspace: world.workspace.id))
    world.api.cachedSettings.forget(world.workspace.id)
    let answer = await leave(body)
    #expect(answer.status == 201)
    let session = try test.session(answer)
    let shown = try await world.call("GET", "\(conversations)/\(session)")
    #expect(shown.string("conversation.visitor.name") == "Ada")
    #expect(shown.string("conversation.last_message.preview") == "Call me")
    for missing in [#""email":"""#, #""email":"x""#, #""message":"""#] {
      let broken = body.replacingOccurrences(
        of: missing.hasPrefix(#""email"#) ? #""email":"ada@example.com""# : #""message":"Call me""#,
        with: missing)
      #expect(await leave(broken).status == 400)
    }
  }

  @Test("the config has what a widget needs before it is opened")
  func config() async throws {
    let world = try await World()
    let path = "/api/v1/widget/config?workspace=\(world.workspace.publicKey)"
    let plain = await world.send("GET", path)
    #expect(
      Set(plain.json.keys) == [
        "workspace", "greeting", "accent", "locale", "theme", "position", "preview", "sound",
        "teaser", "hours", "operators_available", "prechat", "offline", "menu", "rating", "queue",
        "attachments",
      ])
    #expect(plain["hours.is_open"] as? Bool == true)
    #expect(plain.json["menu"] is NSNull)
    #expect(plain["rating.enabled"] as? Bool == true)
    _ = try await world.database.run(
      Query(
        """
        INSERT INTO rich_menus (workspace_id, name, actions, status) VALUES
          ($1::uuid, 'old', '[]', 'inactive'),
          ($1::uuid, 'new', '[{"label":"Prices","type":"message","value":"prices"}]', 'published')
        """, [.uuid(world.workspace.id)]))
    for (key, json) in [
      (.hours, #"{"always":false,"days":[{"day":5,"from":"09:00","to":"17:00"}]}"#),
      (.queue, #"{"show_position":false}"#), (.widget, #"{"theme":"dark","position":"left"}"#),
      (.prechat, #"{"enabled":true,"fields":[{"key":"name","label":"Name","required":true}]}"#),
    ] as [(WorkspaceSettings.Key, String)] {
      _ = try await world.database.ask(
        WorkspaceSettings.store(
          key, try #require(JSONValue(json)), workspace: world.workspace.id))
    }
    world.api.cachedSettings.forget(world.workspace.id)
    let set = await world.send("GET", path)
    #expect(set["hours.is_open"] as? Bool == false)
    #expect(set.string("hours.opens_at") == "2026-11-20T09:00:00.000Z")
    #expect(set.string("theme") == "dark")
    #expect(set.string("position") == "left")
    #expect(set["queue.show_position"] as? Bool == false)
    #expect(set.objects("prechat.fields").first?["key"] as? String == "name")
    #expect(set.objects("menu.actions").first?["label"] as? String == "Prices")
  }
}
