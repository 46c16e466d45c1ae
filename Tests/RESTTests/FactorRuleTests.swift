/// A workspace that begins to require a second factor while a member removes the last one.
import Directory
import DomainFixtures
import JSON
import Postgres
import Primitives
import Testing

@testable import REST

@Suite struct FactorRuleTests {
  enum Factor: CaseIterable { case app, passkey }

  private static let required = JSONValue.object(["require_second_factor": .bool(true)])

  private func change(
    _ world: World, in workspace: Identifier? = nil, _ value: JSONValue?
  ) async throws {
    let actor = AuditActor.command(in: workspace ?? world.workspace.id)
    try await world.database.ask(
      WorkspaceSettings.change(
        [(.security, value)], origins: nil, changesOrigins: false, by: actor))
  }

  /// Gives Mika a factor. Returns the id of a passkey; nil: an app.
  private func add(_ factor: Factor, to world: World) throws -> Identifier? {
    let mika = world.mika.id
    guard factor == .passkey else {
      try world.database.asOwner(
        Query(
          """
          INSERT INTO second_factors (operator_id, key_id, secret, confirmed_at)
          VALUES ($1::uuid, 'x', '\\x00', now())
          """, [.uuid(mika)]))
      return nil
    }
    let id = World.identifier()
    try world.database.asOwner(
      Query("INSERT INTO second_factors (operator_id) VALUES ($1::uuid)", [.uuid(mika)]))
    try world.database.asOwner(
      Query(
        """
        INSERT INTO passkeys (id, operator_id, relying_party, credential_id, public_key, algorithm,
          sign_count, is_synced, name, created_at)
        VALUES ($2::uuid, $1::uuid, 'chat.example.com', uuid_send($2::uuid), '\\x00', -7, 0, false,
          'Key', now())
        """, [.uuid(mika), .uuid(id)]))
    return id
  }

  private func remove(_ passkey: Identifier?, _ world: World) async throws -> SecondFactor.Removal {
    let actor = AuditActor(workspace: world.workspace.id, id: world.mika.id, kind: "operator")
    return try await world.database.ask(
      passkey.map { Passkey.remove($0, by: actor) } ?? SecondFactor.removeApp(by: actor))
  }

  @Test(
    "a removal waits for the rule that is being switched on, and obeys it",
    arguments: Factor.allCases)
  func overlap(factor: Factor) async throws {
    let world = try await World()
    let passkey = try add(factor, to: world)
    try await change(world, .object(["require_second_factor": .bool(false)]))
    let workspace = world.workspace.id
    // Holds the setting's row, so that the change stops in the middle, until the removal waits for
    // the change.
    async let held = world.database.perform { connection -> Bool in
      do {
        _ = try connection.run(Query("BEGIN"))
        _ = try connection.run(
          Query("SELECT set_config('application_name', $1::uuid::text, true)", [.uuid(workspace)]))
        _ = try connection.run(Query(FactorRuleTests.lock, [.uuid(workspace)]))
        var tries = 0
        while try connection.run(Query(FactorRuleTests.removing)).isEmpty, tries < 6_000 {
          tries += 1
          _ = try connection.run(Query("SELECT pg_sleep(0.05)"))
        }
        _ = try connection.run(Query("COMMIT"))
        return tries < 6_000
      } catch {
        return false
      }
    }
    try await world.database.wait(
      until: Query(FactorRuleTests.free, [.uuid(workspace)]), isEmpty: true)
    async let changed: Void = change(world, Self.required)
    try await world.database.wait(until: Query(FactorRuleTests.changing, [.uuid(workspace)]))
    #expect(try await remove(passkey, world) == .last)
    try await changed
    #expect(await held, "the change was held")
    #expect(try await remove(passkey, world) == .last)
    try await change(world, nil)
    #expect(try await remove(passkey, world) == .done)
    #expect(try await remove(passkey, world) == .none)
  }

  @Test("the rule of each workspace of the account counts", arguments: Factor.allCases)
  func elsewhere(factor: Factor) async throws {
    let (world, other) = try await (World(), World())
    let passkey = try add(factor, to: world)
    try await change(world, in: other.workspace.id, Self.required)
    _ = try await world.database.ask(
      Operator.join(world.mika.id, workspace: other.workspace.id, membership: "agent"))
    #expect(try await remove(passkey, world) == .last)
    try await change(world, in: other.workspace.id, nil)
    #expect(try await remove(passkey, world) == .done)
  }

  private static let row: SQL = """
    SELECT 1 FROM system_settings WHERE workspace_id = $1::uuid AND key = 'security'
    """
  private static let lock: SQL = "\(row) FOR UPDATE"
  private static let free: SQL = "\(row) FOR UPDATE SKIP LOCKED"
  /// A change that waits for the row's holder, which has the workspace's name.
  private static let changing: SQL = """
    SELECT 1 FROM pg_stat_activity holder, pg_stat_activity change
    WHERE holder.application_name = $1::uuid::text
      AND holder.pid = ANY (pg_blocking_pids(change.pid))
    """
  /// A removal that waits for a change, which waits for this connection.
  private static let removing: SQL = """
    SELECT 1 FROM pg_stat_activity change, pg_stat_activity removal
    WHERE pg_backend_pid() = ANY (pg_blocking_pids(change.pid))
      AND change.pid = ANY (pg_blocking_pids(removal.pid))
    """
}
