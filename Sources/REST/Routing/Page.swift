import Directory
import JSON
import OpenSSL
import Postgres
import Primitives

/// A page of a list: the rows behind a cursor, which names the last row before it by the values
/// that the list is ordered by. A row that comes or goes meanwhile is neither a duplicate nor a
/// hole of the others.
///
/// The cursor carries a check over list and workspace, so that one of another list is refused like
/// a damaged one. It is no secret: every page is bound to the workspace by its statement.
struct Page: Sendable {
  /// The list's name, as in its answer.
  var list: String
  var workspace: Identifier
  /// The key of the last row before this page; nil for the first page.
  var after: [String]?
  var limit: Int

  init(
    _ list: String, _ query: QueryString, workspace: Identifier, keys: Int = 1,
    standard: Int = APILimits.listDefault
  ) throws(Problem) {
    self.list = list
    self.workspace = workspace
    limit = Int(try query.int("limit", in: 1...Int64(APILimits.list)) ?? Int64(standard))
    guard let cursor = query["cursor"] else { return }
    guard let key = decode(cursor), key.count == keys else { throw .foreignCursor }
    after = key
  }

  /// One part of the key, NULL on the first page.
  func key(_ index: Int) -> Parameter { .text(after?[index]) }

  /// A part of the key that is a number or an id; what somebody forged is no reason for a 500.
  func number(_ index: Int) throws(Problem) -> Parameter {
    guard let after else { return .null }
    guard let number = Int64(after[index]) else { throw .foreignCursor }
    return .int(number)
  }

  func id(_ index: Int) throws(Problem) -> Parameter {
    guard let after else { return .null }
    guard let id = Identifier(after[index]) else { throw .foreignCursor }
    return .uuid(id)
  }

  /// A time as microseconds, within all calendars.
  func time(_ index: Int) throws(Problem) -> Parameter {
    guard let after else { return .null }
    guard let microseconds = Int64(after[index]),
      (0...253_402_300_799_999_999).contains(microseconds)
    else { throw .foreignCursor }
    return .time(WallTime(microseconds: microseconds))
  }

  /// One row more than the limit says whether a page follows.
  var rowsWanted: Parameter { .int(Int64(limit) + 1) }

  func encode(_ key: [String]) -> String {
    let content = Array(key.joined(separator: "\n").utf8)
    return Base64.url.encode(check(content) + content)
  }

  private func decode(_ text: String) -> [String]? {
    guard text.utf8.count <= APILimits.cursorBytes, let bytes = Base64.url.decode(text.utf8),
      bytes.count > 8
    else { return nil }
    let content = Array(bytes[8...])
    guard check(content) == Array(bytes[..<8]), !content.contains(0),
      let key = String(validating: content, as: UTF8.self)
    else { return nil }
    return key.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
  }

  private func check(_ content: [UInt8]) -> [UInt8] {
    var bytes = content
    workspace.appendBytes(to: &bytes)
    bytes.append(list)
    return Array(SHA256.digest(bytes)[..<8])
  }
}

extension API {
  /// Answers a page. The statement's columns are those of the shape, then the parts of the key as
  /// text.
  func list(_ page: Page, _ shape: RowShape, _ query: Query) async throws(Problem) -> APIResponse {
    let rows = try await run(Statement(query) { $0 })
    let shown = min(rows.count, page.limit)
    var json = Array("{\"\(page.list)\":[".utf8)
    for row in 0..<shown {
      json.appendComma()
      shape.append(rows, row, to: &json)
    }
    json.append(UInt8(ascii: "]"))
    if rows.count > page.limit {
      let key = (shape.count..<rows.columnCount).map { rows.text(shown - 1, $0) ?? "" }
      json.appendMember("next_cursor", page.encode(key))
    } else {
      json.appendMember("next_cursor", json: "null")
    }
    json.append(UInt8(ascii: "}"))
    return .json(json)
  }

  /// Answers the one row of a statement as `{"key":{…}}`; without a row there is no such thing.
  func answer(
    _ key: StaticString, _ shape: RowShape, status: Int = 200, _ query: Query,
    orElse missing: @autoclosure () async throws(Problem) -> Problem = .noSuchThing
  ) async throws(Problem) -> APIResponse {
    let rows = try await run(Statement(query) { $0 })
    guard !rows.isEmpty else { throw try await missing() }
    return .json(
      [UInt8].object { json in
        json.appendKey(key)
        shape.append(rows, 0, to: &json)
      }, status: status)
  }

  /// Runs a statement that answers a row if it did something: 204, or there is no such thing.
  func remove(_ query: Query) async throws(Problem) -> APIResponse {
    guard try await run(Statement(query) { !$0.isEmpty }) else { throw .noSuchThing }
    return APIResponse(status: 204)
  }
}

extension Call {
  func page(
    _ list: String, keys: Int = 1, standard: Int = APILimits.listDefault
  ) throws(Problem) -> Page {
    try Page(
      list, QueryString(request.query), workspace: workspace, keys: keys, standard: standard)
  }

  /// The first three parameters of every statement that leaves a line in the audit log: `$1` the
  /// workspace, `$2` and `$3` who did it.
  var actor: [Parameter] { [.uuid(workspace), .uuid(caller.id), .text(caller.actor)] }
}

extension Problem {
  static let foreignCursor = Problem.invalid(
    "The cursor is not one of this list; start again without it, with the same filters.")

  /// The same for what does not exist and for what another workspace has.
  static let noSuchThing = Problem(
    status: 404, type: "not_found", title: "Not found",
    detail: "There is nothing of this name or id in your workspace; it may have been deleted.")
}
