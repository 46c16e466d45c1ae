import Engine
import Primitives
import Testing

@testable import Gateway

@Suite("Notifications between gateways")
struct PeerNotifierTests {
  private let here = RunningGateway.makeID()
  private let there = RunningGateway.makeID()

  private func heard(_ payloads: [String]) -> [PeerChange] {
    payloads.flatMap { PeerNotifier.changes(in: $0, as: there) }
  }

  @Test("every change is delivered once, each session with its workspace")
  func roundTrip() {
    var notifier = PeerNotifier()
    let workspaces = (0..<3).map { _ in RunningGateway.makeID() }
    var told: Set<SessionChange> = []
    for number in 0..<1_000 {
      let change = SessionChange(
        session: RunningGateway.makeID(),
        workspace: number % 4 == 3 ? nil : workspaces[number % 4])
      told.insert(change)
      notifier.add(change)
      notifier.add(change)
    }
    for workspace in workspaces { notifier.queueMoved(in: workspace) }
    let payloads = notifier.takePayloads(as: here)
    #expect(notifier.isEmpty)
    #expect(payloads.allSatisfy { $0.utf8.count < 8_000 })
    let changes = heard(payloads)
    #expect(changes.count == told.count + workspaces.count)
    for change in told { #expect(changes.contains(.session(change))) }
    for workspace in workspaces { #expect(changes.contains(.queue(workspace: workspace))) }
    #expect(
      payloads.allSatisfy { PeerNotifier.changes(in: $0, as: here).isEmpty },
      "a gateway receives its own notifications")
  }

  @Test("above the limit of sessions, one notification says that any session may have changed")
  func overflow() {
    var notifier = PeerNotifier()
    for _ in 0...PeerNotifier.sessionsMax {
      notifier.add(SessionChange(session: RunningGateway.makeID(), workspace: here))
    }
    #expect(heard(notifier.takePayloads(as: here)) == [.everything])
  }

  @Test("unknown words in a notification are ignored")
  func nonsense() {
    #expect(PeerNotifier.changes(in: "", as: here).isEmpty)
    #expect(PeerNotifier.changes(in: "x y z", as: here).isEmpty)
    #expect(PeerNotifier.changes(in: "\(there) q s1 w z\(here) h", as: here) == [.hello])
  }
}
