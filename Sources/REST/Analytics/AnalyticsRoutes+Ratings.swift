/// The list of ratings, with their comments.
import Conversations
import Directory
import JSON
import Postgres
import Primitives

extension AnalyticsRoutes {
  /// `session` is null after the conversation was deleted.
  static let rating = RowShape([
    ("session", .optional(.id)), ("rating", .int), ("comment", .optional(.text)),
    ("visitor", .optional(.text)), ("operator", .optional(.text)), ("team", .optional(.text)),
    ("tags", .texts), ("day", .text), ("at", .time),
  ])

  func listRatings(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("ratings", keys: 3)
    let after = try position(page)
    let filter = try filter(call)
    let days = try await countedRange(call)
    let rows = try await api.expensiveDatabase.rows(
      RatingList.query(
        in: call.workspace, from: days.from, to: days.to, filter: filter, after: after,
        limit: page.rowsWanted))
    let shape = AnalyticsRoutes.rating
    // The ratings are followed by a row without one if more of them remain to be scanned.
    let ratings = (0..<rows.count).prefix { !rows.isNull($0, 1) }
    let shown = ratings.prefix(page.limit)
    var lastRow: Int?
    if ratings.count > page.limit {
      lastRow = shown.last
    } else if ratings.count < rows.count {
      lastRow = ratings.count
    }
    let next = lastRow.map { row in
      page.cursor(after: (shape.count..<rows.columnCount).map { rows.text(row, $0) ?? "" })
    }
    return .json(
      [UInt8].object { json in
        json.appendArray("ratings", shown) { shape.append(rows, $0, to: &$1) }
        json.appendMember("next_cursor", orNull: next)
      })
  }

  /// Day, time and conversation of the last rating of the previous page. A forged cursor may hold
  /// any text.
  private func position(_ page: Page) throws(Problem) -> [Parameter] {
    guard let day = page.text(0) else { return [.null, .null, .null] }
    guard isDate(day), let at = try page.number(1).flatMap({ Cursor.time(microseconds: $0) }),
      let id = page.text(2).flatMap({ Identifier($0) })
    else { throw .foreignCursor }
    return [.text(day), .time(at), .uuid(id)]
  }

  private func filter(_ call: Call) throws(Problem) -> RatingList.Filter {
    let query = try QueryString(call.request.query)
    return RatingList.Filter(
      operatorID: try id(query, "operator"), team: try id(query, "team"),
      channel: try query.channel(), tag: query["tag"], stars: try query.int("rating", in: 1...5),
      hasComment: try hasComment(query))
  }

  private func hasComment(_ query: QueryString) throws(Problem) -> Bool {
    switch query.formatted("comments") {
    case nil: return false
    case "only"?: return true
    case _?: throw .invalidParameter("comments", "only")
    }
  }

  func id(_ query: QueryString, _ name: String) throws(Problem) -> Identifier? {
    guard let text = query.formatted(name) else { return nil }
    guard let id = Identifier(text) else { throw .invalidParameter(name, "an id") }
    return id
  }
}
