import Postgres
import Primitives
import Testing

@testable import Webhooks

/// The queue of deliveries, shared by several nodes.
@Suite struct QueueTests {
  @Test("a session has one delivery at a time, in order; a failing one delays its session only")
  func headOfLine() throws {
    let database = try OutboxDatabase("head")
    _ = try database.webhook("message.created")
    let sessions = [try database.session(), try database.session()]
    for _ in 0..<3 { for session in sessions { try database.line(session) } }
    var node = try Node(database)
    try node.take()
    #expect(node.taken.count == 2 && Set(node.taken.map(\.attempt)) == [1])
    #expect(seqs(node.taken) == [1, 1])
    // One session fails, the other continues.
    let failing = node.taken[0]
    #expect(try node.finish(0, "HTTP 500", pause: 3_600_000) == "pending")
    for seq in 1...3 {
      #expect(seqs(node.taken) == [seq])
      #expect(try node.finish(0, nil) == "delivered")
      try node.take()
    }
    #expect(node.taken.isEmpty)
    // After the last attempt the next delivery of the session is due.
    try database.connection.run(
      Query(
        "UPDATE webhook_deliveries SET next_attempt_at = now() WHERE id = $1", [.uuid(failing.id)]))
    try node.take()
    #expect(node.taken.map(\.id) == [failing.id] && node.taken[0].attempt == 2)
    #expect(try node.finish(0, "HTTP 500", pause: nil) == "failed")
    try node.take()
    #expect(seqs(node.taken) == [2])
  }

  @Test("a delivery belongs to one node at a time; after its lease another node takes it")
  func leases() throws {
    let database = try OutboxDatabase("leases")
    _ = try database.webhook("message.created")
    let session = try database.session()
    try database.line(session)
    try database.line(session)
    var (dead, alive) = (try Node(database), try Node(database))
    try dead.take(milliseconds: 60_000)
    try alive.take()
    #expect(dead.taken.count == 1 && alive.taken.isEmpty)
    try database.connection.run(
      Query("UPDATE webhook_deliveries SET next_attempt_at = now() WHERE lease IS NOT NULL"))
    try alive.take()
    #expect(alive.taken.map(\.id) == dead.taken.map(\.id) && alive.taken[0].attempt == 2)
    // The node that seemed to have crashed continues: its outcome is ignored.
    #expect(try dead.finish(0, "late") == nil)
    #expect(try alive.finish(0, nil) == "delivered")
    try alive.take()
    #expect(seqs(alive.taken) == [2])
    #expect(try database.number("SELECT count(*) FROM webhook_deliveries") == 2)
  }

  @Test(
    "nodes that take, fail, crash and write in random order deliver everything in order",
    arguments: [1, 2, 3] as [UInt64])
  func anyOrder(seed: UInt64) throws {
    let database = try OutboxDatabase("any\(seed)")
    _ = try database.webhook("message.created")
    _ = try database.webhook("message.created")
    let sessions = try (0..<5).map { _ in try database.session() }
    var nodes = try (0..<3).map { _ in try Node(database) }
    var random = seed
    func choose(_ count: Int) -> Int {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(random >> 33) % count
    }
    var (written, steps) = (0, 0)
    var heard: [String: [String]] = [:]
    while steps < 4_000 {
      steps += 1
      let node = choose(nodes.count)
      switch choose(10) {
      case 0 where written < 60:
        try database.line(sessions[choose(sessions.count)])
        written += 1
      case 1...3: try nodes[node].take(room: 1 + choose(8))
      case 4 where choose(8) == 0:
        // The node crashes: its leases expire, and its outcomes are lost.
        nodes[node] = try Node(database)
        try database.connection.run(
          Query(
            """
            UPDATE webhook_deliveries SET next_attempt_at = now() WHERE lease IS NOT NULL
            """))
      default:
        guard !nodes[node].taken.isEmpty else { continue }
        let index = choose(nodes[node].taken.count)
        let delivery = nodes[node].taken[index]
        if choose(10) < 3 {
          try nodes[node].finish(index, "HTTP 500")
        } else {
          let seq = try database.texts(
            """
            SELECT session_id::text || ' ' || seq FROM webhook_deliveries WHERE id = $1
            """, [.uuid(delivery.id)])[0].split(separator: " ")
          let key = "\(delivery.webhook) \(seq[0])"
          if heard[key]?.contains(String(seq[1])) != true {
            heard[key, default: []].append(String(seq[1]))
          }
          try nodes[node].finish(index, nil)
        }
      }
      let isOpen =
        try database.number(
          "SELECT count(*) FROM webhook_deliveries WHERE status = 'pending'") > 0
      if written == 60, !isOpen { break }
    }
    #expect(written == 60 && heard.values.reduce(0) { $0 + $1.count } == 120, "after \(steps)")
    for (key, seqs) in heard {
      #expect(seqs == (1...seqs.count).map(String.init), "\(key)")
    }
  }

  @Test("a failing webhook gets one attempt at a time, and is disabled after days")
  func hopeless() throws {
    let database = try OutboxDatabase("hopeless")
    let webhook = try database.webhook("message.created")
    for _ in 0..<20 { try database.line(try database.session()) }
    var node = try Node(database)
    try node.take()
    #expect(node.taken.count == DeliveryQueue.perWebhook)
    while !node.taken.isEmpty { try node.finish(0, "HTTP 500") }
    try database.connection.run(Query("UPDATE webhooks SET failures = 20"))
    try node.take()
    #expect(node.taken.count == 1)
    #expect(try database.connection.run(DeliverySweep.disableFailing).isEmpty)
    try database.connection.run(
      Query("UPDATE webhooks SET failing_since = now() - interval '4 days'"))
    #expect(try database.connection.run(DeliverySweep.disableFailing).uuid(0, 0) == webhook)
    #expect(try database.connection.run(DeliverySweep.disableFailing).isEmpty)
    #expect(
      try database.texts("SELECT action FROM audit_log WHERE actor = 'rule'")
        == ["webhook.disabled"])
    #expect(try database.connection.run(DeliverySweep.failPending).affected == 20)
    #expect(
      try database.number("SELECT count(*) FROM webhook_deliveries WHERE status = 'failed'") == 20)
  }

  @Test("a success resets the failures; old deliveries and orphans are deleted")
  func sweep() throws {
    let database = try OutboxDatabase("sweep")
    let webhook = try database.webhook("message.created")
    let session = try database.session()
    for _ in 0..<3 { try database.line(session) }
    var node = try Node(database)
    try node.take()
    try node.finish(0, "HTTP 500")
    #expect(
      try database.number("SELECT failures FROM webhooks WHERE failing_since IS NOT NULL") == 1)
    try node.take()
    try node.finish(0, nil)
    #expect(try database.number("SELECT failures FROM webhooks WHERE failing_since IS NULL") == 0)
    try database.connection.run(
      Query("UPDATE webhook_deliveries SET created_at = now() - interval '15 days'"))
    #expect(try database.connection.run(DeliverySweep.deleteOld).affected == 1)
    let pending = try database.connection.run(DeliverySweep.countPending)
    #expect(pending.int(0, 0) == 2)
    #expect((15 * 86_400...15 * 86_400 + 3_600).contains(pending.int(0, 1) ?? 0))
    #expect(try database.connection.run(DeliverySweep.deleteOrphans).affected == 0)
    try database.connection.run(Query("DELETE FROM webhooks WHERE id = $1", [.uuid(webhook)]))
    #expect(try database.connection.run(DeliverySweep.deleteOrphans).affected == 2)
  }

  /// The seq in the payloads of deliveries.
  private func seqs(_ deliveries: [Delivery]) -> [Int] {
    deliveries.compactMap { delivery in
      let text = String(decoding: delivery.payload, as: UTF8.self)
      return text.firstMatch(of: /"seq": (\d+)/).flatMap { Int($0.1) }
    }
  }
}
