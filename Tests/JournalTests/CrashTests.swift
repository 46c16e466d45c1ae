import Chat
import EmbeddedPostgres
import Postgres
import Primitives
import Testing

@testable import Journal

/// The log keeps the guarantee of Sources/PROTOCOL.md (“The log”) when the connection or the server
/// fails between the submission of a batch and its completion.
@Suite(.serialized) struct CrashTests {
  /// Kills the backend at various moments of a batch's life, as far as this machine is fast enough.
  @Test(arguments: 0..<12)
  func `a batch whose backend was killed runs again, and each row is stored once`(round: Int) throws
  {
    let database = try TestDatabase()
    let session = try database.session()
    var writer = Writer(url: database.url, seed: UInt64(round))
    try makeReady(&writer)
    var batch = Batch()
    var ids: [Identifier] = []
    for row in 0..<200 { ids.append(batch.add(session, "row \(row)")) }
    writer.submit(&batch, now: monotonicNow())
    // Odd rounds let part of the response arrive first; even rounds kill at once.
    if round % 2 == 1 { for _ in 0..<round * 40 { writer.advance(now: monotonicNow()) } }
    try database.terminateOthers()
    let outcomes = try complete(&writer)
    #expect(outcomes.allSatisfy { $0.verdict == .stored || $0.verdict == .duplicate })
    #expect(outcomes.map(\.seq) == Array(1...200))
    #expect(try database.seqs(session) == Array(1...200))
    try makeReady(&writer)
  }

  @Test func `after a lost response, committed rows are duplicates with their original numbers`()
    throws
  {
    let database = try TestDatabase()
    let session = try database.session()
    var writer = Writer(url: database.url, seed: 1)
    try makeReady(&writer)
    var batch = Batch()
    batch.add(session, "committed, but nobody heard")
    writer.submit(&batch, now: monotonicNow())
    // The server commits. The writer does not read before its connection fails.
    while try database.seqs(session).isEmpty {}
    try database.terminateOthers()
    // The socket may still hold the response before the disconnect, so both verdicts are valid.
    let outcomes = try complete(&writer)
    #expect([.stored, .duplicate].contains(outcomes[0].verdict))
    #expect(outcomes[0].seq == 1)
    #expect(try database.seqs(session) == [1])
  }

  @Test func `an immediate stop of the server causes no loss, duplicate or gap`() throws {
    let (cluster, directory) = try ScratchCluster.separate()
    defer {
      cluster.stop()
      ScratchCluster.discard(directory)
    }
    let database = try TestDatabase(on: cluster.url)
    let session = try database.session()
    var writer = Writer(url: database.url, seed: 1)
    var expected: Int64 = 0
    for round in 0..<4 {
      try makeReady(&writer)
      var batch = Batch()
      for row in 0..<100 { batch.add(session, "round \(round) row \(row)") }
      writer.submit(&batch, now: monotonicNow())
      for _ in 0..<round * 50 { writer.advance(now: monotonicNow()) }
      try cluster.crashAndRestart()
      let outcomes = try complete(&writer)
      #expect(outcomes.allSatisfy { $0.verdict == .stored || $0.verdict == .duplicate })
      #expect(outcomes.map(\.seq) == Array(expected + 1...expected + 100))
      expected += 100
    }
    let check = try BlockingConnection(database.url)
    let rows = try check.run(
      Query("SELECT count(*), max(seq), min(seq), count(DISTINCT id) FROM chats"))
    #expect((0..<4).map { rows.int(0, $0) } == [400, 400, 1, 400])
  }

  @Test func `a batch fails as unavailable if the server does not return within the wait`() throws {
    let database = try TestDatabase()
    let session = try database.session()
    var writer = Writer(url: database.url, seed: 1)
    try makeReady(&writer)
    // Time is a value: after the disconnect, the clock advances six seconds.
    try database.terminateOthers()
    var batch = Batch()
    batch.add(session, "too late")
    let now = monotonicNow()
    writer.submit(&batch, now: now)
    while writer.status.descriptor >= 0 { writer.advance(now: now) }
    writer.advance(now: now.advanced(byMilliseconds: Limits.sendWaitMilliseconds + 1))
    var outcomes: [Outcome]?
    let isComplete = writer.takeCompletion { outcomes = $1 }
    #expect(isComplete)
    #expect(outcomes?.map(\.verdict) == [.unavailable])
  }
}
