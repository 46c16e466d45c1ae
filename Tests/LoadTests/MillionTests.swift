import ArgumentParser
import Foundation
import Kernel
import Primitives
import Testing
import Wire

@testable import chirrup_load

/// The arithmetic of `million`, and what a silent widget reads.
@Suite struct MillionPlanTests {
  @Test func `a million widgets need 51 gateways and as many client processes`() {
    let plan = MillionPlan(widgets: 1_000_000, step: 100_000, speaksEvery: 1_000)
    #expect(plan.sizes == Array(stride(from: 100_000, through: 1_000_000, by: 100_000)))
    #expect(plan.gateways == 51 && plan.processes == 51)
    #expect(plan.speakers(of: 1_000_000) == 1_000 && plan.silent(of: 1_000_000) == 999_000)
    // The second tabs of the speakers count too.
    let connections = 1_000_000 + 1_000
    #expect((connections + 50) / 51 <= MillionPlan.gatewayConnectionsMax)
    for process in 0..<plan.processes {
      #expect(plan.sizes(of: process).last ?? 0 <= MillionPlan.connectionsMax)
    }
  }

  @Test func `a last step may be smaller, and asked processes are a minimum`() {
    let plan = MillionPlan(
      widgets: 2_500, step: 1_000, speaksEvery: 1_000, gateways: 3, processes: 2)
    #expect(plan.sizes == [1_000, 2_000, 2_500])
    #expect(plan.gateways == 3 && plan.processes == 2)
    #expect(MillionPlan(widgets: 100, step: 100, speaksEvery: 1_000).gateways == 2)
    #expect(
      MillionPlan(widgets: 100_000, step: 100_000, speaksEvery: 1_000, gateways: 3).gateways == 6)
  }

  @Test func `the shares of all processes add up, and none shrinks`() {
    let plan = MillionPlan(widgets: 10_007, step: 1_003, speaksEvery: 10, processes: 7)
    for (number, size) in plan.sizes.enumerated() {
      let parts = (0..<7).map { plan.sizes(of: $0)[number] }
      #expect(parts.reduce(0, +) == plan.silent(of: size))
      #expect((parts.max() ?? 0) - (parts.min() ?? 0) <= 1)
    }
    for process in 0..<7 { #expect(plan.sizes(of: process) == plan.sizes(of: process).sorted()) }
  }

  @Test func `few hellos wait at once, however many processes send them`() {
    for widgets in [1_000, 100_000, 1_000_000] {
      let plan = MillionPlan(widgets: widgets, step: widgets, speaksEvery: 1_000)
      #expect((4 * plan.processes...512).contains(plan.openingsOfProcess * plan.processes))
    }
  }

  @Test func `every gateway has an address of its own`() {
    let all = (0..<Million.gatewaysMax).map { "\(MillionPlan.address(ofGateway: $0))" }
    #expect(all.first == "127.1.0.1" && all.last == "127.1.0.250")
    #expect(Set(all).count == all.count)
  }

  @Test func `a step that would go below the floor does not begin`() throws {
    let gibibyte = 1 << 30
    #expect(
      MillionPlan.shortage(
        more: 100_000, bytesEach: 10_000, available: 6 * gibibyte, floor: 5 * gibibyte) == nil)
    let text = try #require(
      MillionPlan.shortage(
        more: 200_000, bytesEach: 10_000, available: 6 * gibibyte, floor: 5 * gibibyte))
    #expect(text.contains("200,000 more widgets") && text.contains("--floor-mebibytes"))
    #expect(MillionPlan.alarm(available: 5 * gibibyte, floor: 5 * gibibyte) == nil)
    #expect(MillionPlan.alarm(available: 5 * gibibyte - 1, floor: 5 * gibibyte) != nil)
  }

  @Test func `a slope is that of the line through the points`() throws {
    let line = try #require(Slope([(0, 5), (10, 25), (20, 45)]))
    #expect(abs(line.slope - 2) < 1e-9 && abs(line.intercept - 5) < 1e-9)
    // Least squares: the errors of both ends cancel each other.
    let rough = try #require(Slope([(0, 1), (10, 19), (20, 41)]))
    #expect(abs(rough.slope - 2) < 1e-9)
    #expect(Slope([(3, 1)]) == nil && Slope([(3, 1), (3, 2)]) == nil && Slope([]) == nil)
  }

  @Test func `the options of the command are checked`() throws {
    let million = try Million.parse(["--chirrup", "x", "--widgets", "2000", "--gateways", "2"])
    #expect(million.plan.sizes == Array(stride(from: 200, through: 2_000, by: 200)))
    for wrong in [["--widgets", "0"], ["--speaks-every", "1"], ["--gateways", "251"]] {
      #expect(throws: (any Error).self) { try Million.parse(["--chirrup", "x"] + wrong) }
    }
  }
}

@Suite struct MillionMemoryTests {
  static let meminfo = """
    MemTotal:       24684092 kB
    MemAvailable:   15391296 kB
    SUnreclaim:       379616 kB
    """
  static let sockstat = """
    sockets: used 335
    TCP: inuse 24 orphan 0 tw 53 alloc 26 mem 67
    UDP: inuse 2 mem 0
    """
  static let slabinfo = """
    slabinfo - version: 2.1
    # name  <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables …
    TCP 66 117 2368 13 8 : tunables 0 0 0 : slabdata 9 9 0
    sock_inode_cache     320    342    832   19    4 : tunables 0 0 0 : slabdata 17 18 0
    lsm_inode_cache  1205384 1355520     32  128    1 : tunables 0 0 0 : slabdata 10590 10590 0
    dentry           1848385 1931328    192   21    1 : tunables 0 0 0 : slabdata 91968 91968 0
    """

  @Test func `the kernel's memory for sockets is read`() {
    let memory = KernelMemory(
      meminfo: MillionMemoryTests.meminfo, sockstat: MillionMemoryTests.sockstat,
      slabinfo: MillionMemoryTests.slabinfo)
    #expect(memory.availableBytes == 15_391_296 << 10)
    #expect(memory.tcpSockets == 26 && memory.tcpBufferBytes == 67 * 4096)
    let objects = 66 * 8 * 4096 / 13 + 320 * 4 * 4096 / 19
    #expect(memory.objectBytes == objects && memory.bytesOfName == 224)
    #expect(memory.socketBytes == objects + 26 * 224 + 67 * 4096)
    let hidden = KernelMemory(
      meminfo: MillionMemoryTests.meminfo, sockstat: MillionMemoryTests.sockstat, slabinfo: "")
    #expect(hidden.objectBytes == nil && hidden.socketBytes == nil)
  }

  @Test func `this machine's files are understood`() {
    let memory = KernelMemory.now()
    #expect(memory.availableBytes > 0)
    // The file is longer than one read of it.
    if getuid() == 0 { #expect(memory.objectBytes ?? 0 > 0 && memory.bytesOfName > 0) }
    #expect(KernelMemory.available() > 0)
    let own = GroupMemory([Int(getpid())])
    #expect(own.processes == 1 && own.anonymousBytes > 0 && own.proportionalBytes > 0)
  }

  @Test func `processes of a group are added, and ended ones are left out`() {
    var group = GroupMemory()
    for _ in 0..<2 { group.add(rollup: "Rss: 9 kB\nPss: 5 kB\nAnonymous:      3 kB\n") }
    #expect(
      group.processes == 2 && group.anonymousBytes == 6 << 10 && group.proportionalBytes == 10 << 10
    )
    #expect(GroupMemory([Int(Int32.max)]).processes == 0)
  }

  @Test func `the cost of a widget is the growth since there was none`() {
    var empty = MillionSample()
    empty.gateways.anonymousBytes = 1_000
    empty.kernel.tcpBufferBytes = 5_000
    var step = MillionStep(widgets: 10)
    step.sample.gateways.anonymousBytes = 11_000
    step.sample.kernel.tcpBufferBytes = 85_000
    #expect(MillionCost(step, after: empty).kernel == nil)
    empty.kernel.objectBytes = 0
    step.sample.kernel.objectBytes = 0
    let cost = MillionCost(step, after: empty)
    #expect(cost.gateway == 1_000 && cost.kernel == 8_000 && cost.client == 0)
  }

  @Test func `rest is a share of a core`() {
    let begin = MillionUse(at: .zero, gateways: 1, clients: 2, postgres: 3, transactions: 4)
    let end = MillionUse(
      at: Instant(nanoseconds: 10_000_000_000), gateways: 2, clients: 7, postgres: 3,
      transactions: 104, pongs: 50)
    let rest = end.since(begin)
    #expect(rest.gatewayCores == 0.1 && rest.clientCores == 0.5 && rest.postgresCores == 0)
    #expect(rest.transactionsPerSecond == 10 && rest.heartbeatsPerSecond == 5)
  }
}

@Suite struct MillionClientTests {
  /// The frames of the gateway, in pieces of `count` bytes, one read each.
  static func news(_ texts: [String], pieces count: Int) -> MillionNews {
    var bytes: [UInt8] = []
    for text in texts {
      let payload = Array(text.utf8)
      FrameEncoder.appendHeader(.text, payloadByteCount: payload.count, to: &bytes)
      bytes += payload
    }
    return read(bytes, pieces: count)
  }

  static func read(_ bytes: [UInt8], pieces count: Int) -> MillionNews {
    var news = MillionNews()
    var rest: [UInt8] = []
    for begin in stride(from: 0, to: bytes.count, by: count) {
      let piece = Array(bytes[begin..<min(begin + count, bytes.count)])
      piece.withRawSpan { news.take($0, &rest) }
    }
    if !rest.isEmpty, news.problem == nil { news.problem = "\(rest.count) bytes are left" }
    return news
  }

  static let ping = #"{"type":"ping"}"#
  static let live = #"{"type":"live","session":"01900000-0000-7000-8000-000000000001","seq":0}"#

  @Test(arguments: [1, 2, 3, 7, 1_000])
  func `heartbeats and the end of the backlog are seen in any pieces`(pieces: Int) {
    let long = #"{"type":"welcome","x":"\#(String(repeating: "y", count: 300))"}"#
    let news = MillionClientTests.news(
      [
        long, MillionClientTests.live + "\n" + MillionClientTests.ping, MillionClientTests.ping,
      ], pieces: pieces)
    #expect(news.problem == nil)
    #expect(news.isLive && news.pings == 2 && news.messages == 0 && news.refusal == nil)
  }

  @Test(arguments: [1, 1_000])
  func `what a silent widget must not get is noticed`(pieces: Int) {
    let message = #"{"type":"message","seq":1,"id":"01900000-0000-7000-8000-000000000002"}"#
    #expect(MillionClientTests.news([message, message], pieces: pieces).messages == 2)
    let error = #"{"type":"error","code":"unavailable","message":"later","retry":true}"#
    let refused = MillionClientTests.news([error], pieces: pieces)
    #expect(refused.refusal == "unavailable" && refused.mayRetry)
    #expect(MillionClientTests.news([#"{"type":"resync"}"#], pieces: pieces).problem != nil)
    #expect(MillionClientTests.news(["{"], pieces: pieces).problem != nil)
    #expect(MillionClientTests.read([0x88, 2, 0x10, 0x07], pieces: pieces).ending == "closed 4103")
    #expect(MillionClientTests.read([0xC1, 0], pieces: pieces).problem != nil)
  }

  @Test func `a speaker has two tabs at different gateways`() throws {
    let group = ClientGroup.speakers(RoomsTests.credentials(visitors: 3, operators: 1))
    #expect(group.sessions.count == 3 && group.members.count == 6)
    let stamp = Stamp(nonce: 1, wall: SystemClock.wallTime(), now: SystemClock.now())
    var plan = LoadPlan(
      target: try #require(Target("ws://127.1.0.1:1")), stamp: stamp, bodyBytes: 64,
      ratePerSecond: 1, spacing: .poisson, seconds: 1, operatorShare: 0, settleSeconds: 1,
      drainSeconds: 1, backoffMaxMilliseconds: 1_000, seed: 1)
    #expect(plan.target(of: 5, .plain).host == "127.1.0.1:1")
    plan.gateways = try (0..<3).map { try #require(Target("ws://127.1.0.\($0 + 1):1")) }
    for speaker in 0..<3 {
      let tabs = group.members[2 * speaker..<2 * speaker + 2]
      #expect(tabs.allSatisfy { $0.sessions == [speaker] && $0.role == .visitor })
      #expect(Set(tabs.map { plan.target(of: $0.number, .plain).host }).count == 2)
    }
  }

  /// A program in place of chirrup, which writes as many lines as it is asked for.
  static func program(_ folder: String, _ script: String) throws -> String {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let path = folder + "/program"
    try Data("#!/bin/sh\n\(script)\n".utf8).write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    return path
  }

  @Test func `the tokens of a step are made while the workers are attended`() throws {
    let folder = NSTemporaryDirectory() + "million-\(UInt32.random(in: 0...UInt32.max))"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let program = try MillionClientTests.program(folder, "seq 1 $6")
    var turns = 0
    func make(_ program: String, attend: () -> Bool) throws -> Bool {
      try MillionTokens.make(
        [2, 0, 20_001], step: 3, folder: folder, chirrup: program, databaseURL: "x",
        attend: attend)
    }
    let isMade = try make(program) {
      turns += 1
      usleep(1_000)
      return true
    }
    #expect(isMade && turns > 0)
    let parts = try (0..<3).map { process in
      try String(contentsOfFile: "\(folder)/3-\(process)", encoding: .utf8).split(separator: "\n")
    }
    // 20,000 of one call and three of the next.
    #expect(parts.map(\.count) == [2, 0, 20_001])
    #expect(parts[0] == ["1", "2"] && parts[2].first == "3" && parts[2].last == "3")
    #expect(try !make(try MillionClientTests.program(folder, "sleep 60")) { false })
    let broken = try MillionClientTests.program(folder, "exit 3")
    #expect(throws: CredentialFailure.self) { try make(broken) { true } }
  }

  @Test func `tokens are divided by lines`() throws {
    let data = Data("a\nbb\nccc\n".utf8)
    let first = try #require(MillionTokens.end(of: 2, linesOf: data, from: data.startIndex))
    #expect(data[..<first] == Data("a\nbb\n".utf8))
    #expect(MillionTokens.end(of: 1, linesOf: data, from: first) == data.endIndex)
    #expect(MillionTokens.end(of: 2, linesOf: data, from: first) == nil)
    #expect(MillionTokens.end(of: 0, linesOf: data, from: first) == first)
  }
}
