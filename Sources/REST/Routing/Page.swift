import Directory
import JSON
import Postgres
import Primitives

/// A page of a list: the rows after a cursor, which names the last row of the previous page by the
/// values that the list is ordered by. Rows that are added or removed in the meantime neither
/// repeat nor hide other rows.
struct Page: Sendable {
  /// The list's name, as in its response.
  let list: StaticString
  let workspace: Identifier
  let limit: Int
  /// The key of the last row of the previous page; nil for the first page.
  private let lastKey: [String]?

  /// - Parameter keys: the number of values that the list is ordered by.
  init(
    _ list: StaticString, _ query: QueryString, workspace: Identifier, keys: Int = 1,
    defaultLimit: Int = APILimits.listDefault
  ) throws(Problem) {
    self.list = list
    self.workspace = workspace
    limit = Int(try query.int("limit", in: 1...Int64(APILimits.list)) ?? Int64(defaultLimit))
    guard let cursor = query["cursor"] else {
      lastKey = nil
      return
    }
    guard let key = Page.key(cursor, of: list, workspace), key.count == keys else {
      throw .foreignCursor
    }
    lastKey = key
  }

  /// A value of the last key; nil on the first page.
  func text(_ index: Int) -> String? { lastKey?[index] }

  /// A value that is a number. A forged cursor may hold any text.
  func number(_ index: Int) throws(Problem) -> Int64? {
    guard let lastKey else { return nil }
    guard let number = Int64(lastKey[index]) else { throw .foreignCursor }
    return number
  }

  /// The first two values of the key: a time in microseconds and an id.
  var position: ListPosition? {
    get throws(Problem) {
      guard let lastKey else { return nil }
      guard let at = Int64(lastKey[0]).flatMap({ Cursor.time(microseconds: $0) }),
        let id = Identifier(lastKey[1])
      else { throw .foreignCursor }
      return ListPosition(at: at, id: id)
    }
  }

  /// One row more than `limit` tells whether another page follows.
  var rowsWanted: Int { limit + 1 }

  /// The cursor of the page after the row with this key.
  func cursor(after key: [String]) -> String {
    Cursor.encode(
      Array(key.joined(separator: "\n").utf8), list: Page.bytes(list), workspace: workspace)
  }

  private static func key(
    _ cursor: String, of list: StaticString, _ workspace: Identifier
  ) -> [String]? {
    let position = Cursor.decode(
      cursor, bytesMax: APILimits.cursorBytes, list: bytes(list), workspace: workspace)
    guard let position, !position.contains(0),
      let key = String(validating: position, as: UTF8.self)
    else { return nil }
    return key.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
  }

  private static func bytes(_ list: StaticString) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(list)
    return bytes
  }
}

extension API {
  /// Returns a page of rows. The statement's columns are those of the shape, followed by the values
  /// of the key as text.
  ///
  /// - Parameter other: instead of `database`.
  func list(
    _ page: Page, _ shape: RowShape, _ query: Query, from other: APIDatabase? = nil
  ) async throws(Problem) -> APIResponse {
    let rows = try await (other ?? database).rows(query)
    let shown = min(rows.count, page.limit)
    var next: String?
    if rows.count > page.limit {
      next = page.cursor(
        after: (shape.count..<rows.columnCount).map { rows.text(shown - 1, $0) ?? "" })
    }
    return .json(
      [UInt8].object { json in
        json.appendArray(page.list, 0..<shown) { shape.append(rows, $0, to: &$1) }
        json.appendMember("next_cursor", orNull: next)
      })
  }

  /// Returns the row of a statement as `{"key":{…}}`.
  ///
  /// - Parameter missing: the problem if there is no row.
  func row(
    _ key: StaticString, _ shape: RowShape, status: Int = 200, _ query: Query,
    orElse missing: @autoclosure () async throws(Problem) -> Problem = .noSuchResource
  ) async throws(Problem) -> APIResponse {
    let rows = try await database.rows(query)
    guard !rows.isEmpty else { throw try await missing() }
    return .json(
      [UInt8].object { json in
        json.appendKey(key)
        shape.append(rows, 0, to: &json)
      }, status: status)
  }

  /// Runs a statement that returns whether it deleted something: 204, or 404.
  func delete(
    _ statement: Statement<Bool>, from other: APIDatabase? = nil
  ) async throws(Problem) -> APIResponse {
    guard try await (other ?? database).run(statement) else { throw .noSuchResource }
    return APIResponse(status: 204)
  }
}

extension Call {
  func page(
    _ list: StaticString, keys: Int = 1, defaultLimit: Int = APILimits.listDefault
  ) throws(Problem) -> Page {
    try Page(
      list, QueryString(request.query), workspace: workspace, keys: keys,
      defaultLimit: defaultLimit)
  }
}

extension Problem {
  /// The same whether it does not exist or belongs to another workspace.
  static let noSuchResource = Problem(
    status: 404, type: "not_found", title: "Not found",
    detail: "Your workspace has nothing with this name or id. It may have been deleted.")
}
