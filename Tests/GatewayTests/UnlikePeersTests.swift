import Primitives
import SharedSQL
import Testing

@testable import Gateway

@Suite("Gateways that differ")
struct UnlikePeersTests {
  private func traits(
    _ keys: [String] = ["a", "signing"], version: String = "1", schema: String = "s"
  ) -> GatewayTraits {
    GatewayTraits(version: version, schema: schema, keys: keys)
  }

  private func process(_ traits: GatewayTraits) -> GatewayProcess {
    GatewayProcess(
      id: RunningGateway.makeID(), traits: traits, host: "h", process: 1, startedAt: "t")
  }

  @Test("keys differ if one gateway encrypts what the other cannot open, not during a rotation")
  func keys() {
    let old = traits(["a", "signing"])
    let later = [["a", "b", "signing"], ["b", "a", "signing"], ["b", "signing"]].map { traits($0) }
    for (one, next) in zip([old] + later, later) {
      #expect(!one.hasKeys(unlike: next) && !next.hasKeys(unlike: one))
    }
    #expect(old.hasKeys(unlike: later[1]) && later[1].hasKeys(unlike: old))
    #expect(traits(["signing"]).hasKeys(unlike: old))
    // A gateway of an older release has stored none.
    #expect(!old.hasKeys(unlike: traits([])))
  }

  @Test("each gateway that differs is noticed once while it runs, with what differs")
  func once() {
    var peers = UnlikePeers()
    let like = process(traits())
    let newer = process(traits(version: "2", schema: "t"))
    let stranger = process(traits(["c", "signing"]))
    let first = peers.take([like, newer, stranger], beside: traits())
    #expect(first.map(\.differences) == [["version 2", "schema t"], ["another credentials_key"]])
    #expect(first.map(\.hasOtherKeys) == [false, true])
    #expect(peers.take([like, newer, stranger], beside: traits()).isEmpty)
    #expect(peers.take([like, stranger], beside: traits()).isEmpty)
    #expect(peers.take([newer], beside: traits()).map(\.process) == [newer])
  }

  @Test("a gateway that starts beside another version logs it, and the running one too")
  func logged() async throws {
    let (here, there) = (LogBook(), LogBook())
    let nodes = try await Nodes(loops: 1, logs: (here, there), versions: ("1", "2"))
    defer { nodes.stop() }
    #expect(try await here.first(with: "another gateway").contains("differs: version 2 gateway="))
    #expect(try await there.first(with: "another gateway").contains("differs: version 1 gateway="))
  }
}
