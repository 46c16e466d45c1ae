import Directory
import DomainFixtures
import Postgres
import Primitives
import Testing
import Webhooks

@testable import REST

private let path = "/api/v1/admin/webhooks"

@Suite struct WebhookTests {
  @Test(
    "an administrator creates, changes, tests and deletes a webhook; the audit log records each")
  func life() async throws {
    let world = try await World()
    let admin = try await world.member(.admin)
    let made = try await world.call(
      "POST", path, as: admin,
      json: #"{"url":"https://example.com/x","events":["rating.created","message.created"]}"#)
    #expect(made.status == 201)
    let id = try #require(made.string("webhook.id"))
    #expect(made.string("webhook.secret")?.hasPrefix("whsec_") == true)
    #expect(made["webhook.events"] as? [String] == ["message.created", "rating.created"])
    let list = try await world.call("GET", path, as: admin)
    #expect(list.objects("webhooks").count == 1 && !list.body.contains("whsec_"))
    let changed = try await world.call(
      "PATCH", "\(path)/\(id)", as: admin, json: #"{"events":[],"is_enabled":false}"#)
    #expect(changed["webhook.events"] as? [String] == [])
    #expect(changed.string("webhook.url") == "https://example.com/x")
    let disabled = try await world.call("POST", "\(path)/\(id)/test", as: admin)
    #expect(disabled.status == 409)
    _ = try await world.call("PATCH", "\(path)/\(id)", as: admin, json: #"{"is_enabled":true}"#)
    let test = try await world.call("POST", "\(path)/\(id)/test", as: admin)
    #expect(test.status == 202 && test.string("delivery.event") == "webhook.test")
    let delivery = try #require(test.string("delivery.id"))
    let again = try await world.call(
      "POST", "\(path)/\(id)/deliveries/\(delivery)/redeliver", as: admin)
    #expect(again.status == 202 && again.string("delivery.id") == delivery)
    #expect(try await world.call("DELETE", "\(path)/\(id)", as: admin).status == 204)
    for (method, rest) in [("GET", ""), ("DELETE", ""), ("POST", "/test"), ("GET", "/deliveries")] {
      let gone = try await world.call(method, "\(path)/\(id)\(rest)", as: admin)
      #expect(gone.status == 404, "\(method) \(rest)")
    }
    #expect(
      try await world.audit() == [
        "webhook.created", "webhook.changed", "webhook.changed", "webhook.deleted",
      ])
  }

  @Test("agents, other workspaces and keys without the scope have no access")
  func access() async throws {
    let world = try await World()
    let admin = try await world.member(.admin)
    let body = #"{"url":"https://example.com/"}"#
    let made = try await world.call("POST", path, as: admin, json: body)
    let id = try #require(made.string("webhook.id"))
    #expect(try await world.call("GET", path).status == 403)
    #expect(try await world.call("POST", path, json: body).status == 403)
    let other = try await World()
    let stranger = try await other.member(.owner)
    for (method, rest) in [
      ("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/test"), ("GET", "/deliveries"),
      ("POST", "/deliveries/\(id)/redeliver"),
    ] {
      let answer = try await other.call(method, "\(path)/\(id)\(rest)", as: stranger)
      #expect(answer.status == 404, "\(method) \(rest)")
    }
    let reader = try await world.key([.webhooksRead])
    let bearer = [("Authorization", "Bearer \(reader)"), ("Content-Type", "application/json")]
    #expect(await world.send("GET", path, bearer).status == 200)
    #expect(await world.send("POST", path, bearer, body).status == 403)
  }

  @Test(
    "invalid webhooks are refused",
    arguments: [
      #"{}"#, #"{"url":7}"#, #"{"url":"http://127.0.0.1/"}"#, #"{"url":"https://u:p@a.example/"}"#,
      #"{"url":"https://a.example/","events":["no.event"]}"#,
      #"{"url":"https://a.example/","events":"all"}"#,
      #"{"url":"https://a.example/","events":[1]}"#,
      #"{"url":"https://a.example/","is_enabled":"yes"}"#,
    ])
  func wrong(body: String) async throws {
    let world = try await World()
    let admin = try await world.member(.admin)
    #expect(try await world.call("POST", path, as: admin, json: body).status == 400)
  }

  @Test("deliveries are listed newest first, in pages, and by status")
  func log() async throws {
    let world = try await World()
    let admin = try await world.member(.admin)
    let made = try await world.call(
      "POST", path, as: admin, json: #"{"url":"https://example.com/"}"#)
    let id = try #require(made.string("webhook.id"))
    var sent: [String] = []
    for _ in 0..<5 {
      let test = try await world.call("POST", "\(path)/\(id)/test", as: admin)
      sent.append(try #require(test.string("delivery.id")))
    }
    var read: [String] = []
    var cursor = ""
    repeat {
      let page = try await world.call(
        "GET", "\(path)/\(id)/deliveries?limit=2\(cursor)", as: admin)
      #expect(page.status == 200)
      read += page.objects("deliveries").compactMap { $0["id"] as? String }
      cursor = page.string("next_cursor").map { "&cursor=\($0)" } ?? ""
    } while !cursor.isEmpty
    #expect(read == sent.reversed())
    let failed = try await world.call("GET", "\(path)/\(id)/deliveries?status=failed", as: admin)
    #expect(failed.objects("deliveries").isEmpty)
    let odd = try await world.call("GET", "\(path)/\(id)/deliveries?status=odd", as: admin)
    #expect(odd.status == 400)
  }
}
