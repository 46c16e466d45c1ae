import Chat
import Directory
import DomainFixtures
import Postgres
import Primitives
import Testing

@testable import REST

private let members = "/api/v1/admin/members"

/// Every actor tries every change of a member of every role. A refused change must have no effect.
@Suite struct TakeoverTests {
  enum Actor: CaseIterable {
    case owner, admin, agent, inviting, managing, bare

    /// The highest role it may give or change; nil: none.
    var reach: Membership? {
      switch self {
      case .owner: .owner
      case .admin: .admin
      case .inviting, .managing: .agent
      case .agent, .bare: nil
      }
    }

    var isMember: Bool { self == .owner || self == .admin }
  }

  enum Deed: CaseIterable {
    case rename, setPassword, makeAgent, makeAdmin, makeOwner, disable, remove

    var method: String { self == .remove ? "DELETE" : "PATCH" }

    var body: String? {
      switch self {
      case .rename: #"{"name":"Renamed"}"#
      case .setPassword: #"{"password":"taken over by me"}"#
      case .makeAgent: #"{"role":"agent"}"#
      case .makeAdmin: #"{"role":"admin"}"#
      case .makeOwner: #"{"role":"owner"}"#
      case .disable: #"{"disabled":true}"#
      case .remove: nil
      }
    }

    var given: Membership {
      switch self {
      case .makeAdmin: .admin
      case .makeOwner: .owner
      default: .agent
      }
    }

    func isAllowed(_ actor: Actor, _ target: Membership) -> Bool {
      guard let reach = actor.reach, actor != .inviting else { return false }
      if self == .setPassword, !actor.isMember { return false }
      return target <= reach && given <= reach
    }
  }

  func authorization(_ actor: Actor, _ world: World) async throws -> String {
    switch actor {
    case .owner: try world.bearer(try await world.member(.owner))
    case .admin: try world.bearer(try await world.member(.admin))
    case .agent: try world.bearer(world.mika)
    case .inviting: "Bearer " + (try await world.key([.membersInvite, .membersRead]))
    case .managing: "Bearer " + (try await world.key([.membersManage, .membersRead]))
    case .bare:
      "Bearer "
        + (try await world.key(
          KeyScope.allCases.filter { $0 != .membersInvite && $0 != .membersManage }))
    }
  }

  func send(
    _ world: World, _ method: String, _ path: String, _ authorization: String, _ body: String?
  ) async -> Answer {
    await world.send(
      method, path, [("Authorization", authorization), ("Content-Type", "application/json")], body)
  }

  /// The state of a member that an action may change.
  func state(_ world: World, _ id: Identifier) async throws -> String {
    let rows = try await world.database.run(
      Query(
        """
        SELECT concat_ws(' ', o.name, o.password_hash, o.must_change_password, o.disabled_at,
          m.role)
        FROM operators o JOIN memberships m ON m.operator_id = o.id
        WHERE o.id = $1 AND m.workspace_id = $2
        """, [.uuid(id), .uuid(world.workspace.id)]))
    return rows.isEmpty ? "gone" : rows.text(0, 0) ?? ""
  }

  @Test("callers change members up to their reach, and an API key cannot take over an account")
  func matrix() async throws {
    let world = try await World()
    _ = try await world.member(.owner)  // so that the target is never the last one
    for actor in Actor.allCases {
      let authorization = try await authorization(actor, world)
      for deed in Deed.allCases {
        for role in Membership.allCases {
          let target = try await world.member(role)
          let before = try await state(world, target.id)
          let answer = await send(
            world, deed.method, "\(members)/\(target.id)", authorization, deed.body)
          let after = try await state(world, target.id)
          let what = "\(actor) \(deed) \(role): \(answer.status) \(answer.body)"
          if deed.isAllowed(actor, role) {
            #expect((200..<300).contains(answer.status), "\(what)")
          } else {
            #expect(answer.status == 403, "\(what)")
            #expect(after == before, "\(what)")
          }
        }
      }
    }
  }

  @Test("callers add members up to their reach, and an API key adds agents without a password")
  func adding() async throws {
    let world = try await World()
    for actor in Actor.allCases {
      let authorization = try await authorization(actor, world)
      for role in Membership.allCases {
        for hasPassword in [true, false] {
          let email = "\(World.identifier())@example.com"
          let password = hasPassword ? #","password":"given to them""# : ""
          let answer = await send(
            world, "POST", members, authorization,
            #"{"email":"\#(email)","name":"New","role":"\#(role)"\#(password)}"#)
          let reach = actor == .managing ? nil : actor.reach
          let what = "\(actor) adds \(role), password: \(hasPassword): \(answer.status)"
          guard let reach, role <= reach, actor.isMember || !hasPassword else {
            #expect(answer.status == 403, "\(what)")
            continue
          }
          #expect(answer.status == 201, "\(what)")
          #expect(answer.string("member.password") == (hasPassword ? "given" : "none"), "\(what)")
        }
      }
    }
  }

  @Test("every change of one's own password requires the current one")
  func own() async throws {
    let world = try await World()
    let owner = try await world.member(.owner)
    let before = try await state(world, owner.id)
    let patched = try await world.call(
      "PATCH", "\(members)/\(owner.id)", as: owner,
      json: #"{"password":"another password","name":"Renamed"}"#)
    #expect(patched.status == 403 && patched.problem == "own_password")
    let wrong = try await world.call(
      "POST", API.passwordPath, as: owner, json: #"{"current":"wrong","new":"another password"}"#)
    #expect(wrong.status == 403 && wrong.problem == "wrong_password")
    #expect(try await state(world, owner.id) == before)
    let right = try await world.call(
      "POST", API.passwordPath, as: owner,
      json: #"{"current":"\#(World.password)","new":"another password"}"#)
    #expect(right.status == 204)
    #expect(try await state(world, owner.id) != before)
  }

  @Test("an address with an account in another workspace gets the same conflict as any other")
  func elsewhere() async throws {
    let world = try await World()
    let other = try await World()
    let owner = try await world.member(.owner)
    var details: Set<String> = []
    for email in [world.mika.email, other.mika.email] {
      let answer = try await world.call(
        "POST", members, as: owner,
        json: #"{"email":"\#(email)","name":"X","password":"given to them"}"#)
      #expect(answer.status == 409)
      details.insert(answer.body)
    }
    #expect(details.count == 1)
  }
}
