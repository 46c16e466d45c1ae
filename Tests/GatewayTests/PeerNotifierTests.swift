import Engine
import Primitives
import Testing

@testable import Gateway

@Suite("What gateways tell each other")
struct PeerNotifierTests {
  private let here = RunningGateway.makeID()
  private let there = RunningGateway.makeID()

  private func heard(_ payloads: [String]) -> [PeerChange] {
    payloads.flatMap { PeerNotifier.read($0, as: there) }
  }

  @Test("everything that is told is heard, of each session its own workspace, and nothing twice")
  func roundTrip() {
    var bell = PeerNotifier()
    let workspaces = (0..<3).map { _ in RunningGateway.makeID() }
    var told: Set<SessionChange> = []
    for number in 0..<1_000 {
      let change = SessionChange(
        session: RunningGateway.makeID(),
        workspace: number % 4 == 3 ? nil : workspaces[number % 4])
      told.insert(change)
      bell.add(change)
      bell.add(change)
    }
    for workspace in workspaces { bell.moved(lineOf: workspace) }
    let payloads = bell.take(as: here)
    #expect(bell.isEmpty)
    #expect(payloads.allSatisfy { $0.utf8.count < 8_000 })
    let changes = heard(payloads)
    #expect(changes.count == told.count + workspaces.count)
    for change in told { #expect(changes.contains(.session(change))) }
    for workspace in workspaces { #expect(changes.contains(.line(workspace: workspace))) }
    #expect(
      payloads.allSatisfy { PeerNotifier.read($0, as: here).isEmpty }, "a gateway hears itself")
  }

  @Test("more sessions than may wait are told as everything")
  func overflow() {
    var bell = PeerNotifier()
    for _ in 0...PeerNotifier.sessionsMax {
      bell.add(SessionChange(session: RunningGateway.makeID(), workspace: here))
    }
    #expect(heard(bell.take(as: here)) == [.everything])
  }

  @Test("what is no word of this language is passed over")
  func nonsense() {
    #expect(PeerNotifier.read("", as: here).isEmpty)
    #expect(PeerNotifier.read("x y z", as: here).isEmpty)
    #expect(PeerNotifier.read("\(there) q s1 w z\(here) h", as: here) == [.hello])
  }
}
