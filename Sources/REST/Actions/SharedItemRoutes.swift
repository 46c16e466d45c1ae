/// The routes of things that a member keeps alone or shares, such as macros.
import Directory
import JSON
import Postgres
import Primitives

/// The routes of one kind of shared items.
struct SharedItemRoutes: Sendable {
  let api: API
  let items: SharedItems
  /// The names of one item and of the list in responses, and of the member with the content.
  let one: StaticString
  let list: StaticString
  let shape: RowShape
  /// The plural in the text of a problem, such as “macros”.
  let noun: String
  /// Whether the figure of the items reads much.
  var readsMuch = false

  /// The table `macros` refuses a longer name.
  static let nameCharactersMax = 100

  /// - Parameter figure: the name of `SharedItems.figure`; nil without one.
  static func shape(
    _ content: StaticString, _ schema: Schema, figure: StaticString? = nil
  ) -> RowShape {
    RowShape(
      [
        ("id", .id), ("name", .text), ("is_shared", .bool), ("may_change", .bool),
        (content, .json(schema)), ("created_at", .time), ("updated_at", .time),
      ] + (figure.map { [($0, .int)] } ?? []))
  }

  func reader(_ call: Call) -> SharedItems.Reader {
    SharedItems.Reader(actor: call.actor, isAdmin: call.caller.membership >= .admin)
  }

  func page(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page(list, keys: 2)
    var last: (name: String, id: Identifier)?
    if let name = page.text(0) {
      guard let id = page.text(1).flatMap({ Identifier($0) }) else { throw .foreignCursor }
      last = (name, id)
    }
    return try await api.list(
      page, shape, items.page(for: reader(call), after: last, limit: page.rowsWanted),
      from: readsMuch ? api.expensiveDatabase : nil)
  }

  func add(_ object: JSONObject, content: [UInt8], _ call: Call) async throws(Problem)
    -> APIResponse
  {
    guard let name = try name(in: object) else { throw .missing("name") }
    let isShared = try isShared(in: object, call) ?? false
    return try await row(
      items.add(
        call.newID(), name: name, isShared: isShared, content: content, by: reader(call)),
      status: 201, orElse: .tooMany(noun, items.countMax))
  }

  func change(_ object: JSONObject, content: [UInt8]?, _ call: Call) async throws(Problem)
    -> APIResponse
  {
    let change = SharedItems.Change(
      name: try name(in: object), isShared: try isShared(in: object, call), content: content)
    let query = items.change(call.id, change, by: reader(call))
    return try await row(query, status: 200, orElse: try await absence(call))
  }

  func delete(_ call: Call) async throws(Problem) -> APIResponse {
    guard try await api.database.run(items.delete(call.id, by: reader(call))) else {
      throw try await absence(call)
    }
    return APIResponse(status: 204)
  }

  /// Why nothing was changed: it does not exist for the caller, or belongs to somebody else.
  private func absence(_ call: Call) async throws(Problem) -> Problem {
    try await api.database.rows(items.find(call.id, for: reader(call))).isEmpty
      ? .noSuchResource : .notYours
  }

  private func row(
    _ query: Query, status: Int, orElse missing: @autoclosure () async throws(Problem) -> Problem
  ) async throws(Problem) -> APIResponse {
    let rows: Rows
    do throws(QueryFailure) {
      rows = try await api.database.attempt(Statement(query) { $0 })
    } catch {
      if case .refused(let state, _) = error, state.code == "23505" { throw .nameInUse }
      throw api.database.problem(for: error)
    }
    guard !rows.isEmpty else { throw try await missing() }
    return .json(
      [UInt8].object { json in
        json.appendKey(one)
        shape.append(rows, 0, to: &json)
      }, status: status)
  }

  private func name(in object: JSONObject) throws(Problem) -> String? {
    guard let name = try object.string("name", bytesMax: APILimits.itemNameBytes) else {
      return nil
    }
    let isLine = name.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
    guard let shown = QueueRoutes.visible(name), isLine,
      shown.unicodeScalars.count <= SharedItemRoutes.nameCharactersMax
    else {
      throw .invalidMember(
        "name", in: object, "one line of 1 to \(SharedItemRoutes.nameCharactersMax) characters")
    }
    return shown
  }

  /// An API key is nobody who could have something alone.
  private func isShared(in object: JSONObject, _ call: Call) throws(Problem) -> Bool? {
    let isShared = try object.bool("is_shared")
    if case .key = call.caller, isShared != true, isShared != nil || call.request.method == "POST" {
      throw .invalidMember("is_shared", in: object, "true for an API key")
    }
    return isShared
  }
}

extension APILimits {
  /// A name of a macro has at most 100 characters, each of up to 4 bytes.
  static let itemNameBytes = 400
}

extension Problem {
  static let nameInUse = Problem.conflict("Another one has this name. Choose another name.")

  static let notYours = Problem.forbidden(
    "not_yours",
    "Somebody else has shared this. Only they and administrators may change it.")
}
