/// A reload examines a new database without holding up the thread that handles signals.
import Kernel
import Primitives
import REST
import Settings
import Synchronization
import Testing

@testable import Gateway

@Suite struct DatabaseTrialTests {
  private struct Refused: Error {}

  @Test("it throws what the examination throws, and can be repeated")
  func outcome() throws {
    let trial = DatabaseTrial()
    try trial.run(unless: { false }, {})
    #expect(throws: Refused.self) { try trial.run(unless: { false }) { throw Refused() } }
    try trial.run(unless: { false }, {})
  }

  @Test("it ends after its time, and no second thread is started before the first has ended")
  func limit() throws {
    let trial = DatabaseTrial(milliseconds: 1_000)
    let (release, hasEnded) = (Semaphore(), Semaphore())
    let fault = #expect(throws: DatabaseTrial.Fault.self) {
      try trial.run(unless: { false }) {
        release.wait()
        hasEnded.signal()
      }
    }
    #expect(fault.map { "\($0)".contains("did not answer within 1 s") } == true)
    let runs = Atomic(0)
    let second = #expect(throws: DatabaseTrial.Fault.self) {
      try trial.run(unless: { false }) { runs.add(1, ordering: .relaxed) }
    }
    #expect(second.map { "\($0)".contains("an earlier reload still waits") } == true)
    #expect(runs.load(ordering: .relaxed) == 0)
    release.signal()
    #expect(hasEnded.wait(milliseconds: 600_000))
    // The thread says so right after its body has ended.
    let end = SystemClock.now().advanced(byMilliseconds: 600_000)
    while SystemClock.now() < end {
      if (try? trial.run(unless: { false }) { runs.add(1, ordering: .relaxed) }) != nil { break }
    }
    #expect(runs.load(ordering: .relaxed) == 1)
  }

  @Test("it ends when the gateway is to end")
  func stopping() throws {
    let trial = DatabaseTrial()
    let release = Semaphore()
    defer { release.signal() }
    let fault = #expect(throws: DatabaseTrial.Fault.self) {
      try trial.run(unless: { true }) { release.wait() }
    }
    #expect(fault.map { "\($0)" } == "the gateway stops")
  }

  @Test("a reload is refused then, with the reason")
  func reload() async throws {
    let gateway = try await RunningGateway()
    defer { gateway.stop() }
    // The kernel accepts connections, and nobody answers.
    let silent = try Sockets.listen(on: .loopback, port: 0)
    let port = try silent.localPort()
    let report = await gateway.reload(
      { $0.databaseURL = "host=127.0.0.1 port=\(port) user=a dbname=b connect_timeout=60" },
      unless: { true })
    #expect(report.refusal?.contains("nothing was changed: the gateway stops") == true)
  }
}
