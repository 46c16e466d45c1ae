/// The comments of ratings, newest first.
import Conversations
import Directory
import JSON
import Postgres
import Primitives

extension AnalyticsRoutes {
  static let ratingComment = RowShape([
    ("session", .id), ("rating", .int), ("comment", .text), ("visitor", .optional(.text)),
    ("operator", .optional(.text)), ("at", .time),
  ])

  func listRatingComments(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("comments", keys: 2)
    let last = try page.position
    let days = try await dayRange(call)
    let rows = try await api.expensiveDatabase.rows(
      RatingComments.query(
        in: call.workspace, from: days.from, to: days.to,
        after: [.time(last?.at), .uuid(last?.id)], limit: page.rowsWanted))
    let shape = AnalyticsRoutes.ratingComment
    // The comments are followed by a row without one if more ratings remain to be scanned.
    let comments = (0..<rows.count).prefix { !rows.isNull($0, 0) }
    let shown = comments.prefix(page.limit)
    var lastRow: Int?
    if comments.count > page.limit {
      lastRow = shown.last
    } else if comments.count < rows.count {
      lastRow = comments.count
    }
    let next = lastRow.map { row in
      page.cursor(after: (shape.count...(shape.count + 1)).map { rows.text(row, $0) ?? "" })
    }
    return .json(
      [UInt8].object { json in
        json.appendArray("comments", shown) { shape.append(rows, $0, to: &$1) }
        json.appendMember("next_cursor", orNull: next)
      })
  }
}
