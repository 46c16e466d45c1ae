/// What visitors wrote with their ratings, newest first.
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
    let position = [try page.time(0), try page.id(1)]
    let days = try await analyticsDays(call)
    let rows = try await rest.run(
      Statement(
        RatingComments.query(
          in: call.workspace, from: days.from, to: days.to, after: position, limit: page.limit + 1)
      ) { $0 })
    let shape = AnalyticsRoutes.ratingComment
    var next: [String]?
    var shown = 0
    let json = [UInt8].object { json in
      json.appendKey("comments")
      json.append(UInt8(ascii: "["))
      for row in 0..<rows.count {
        let isComment = !rows.isNull(row, 0)
        // The row after the last one shown, or the place up to which ratings were read.
        guard isComment, shown < page.limit else {
          if !isComment || shown == page.limit {
            let key = isComment ? row - 1 : row
            next = [rows.text(key, shape.count) ?? "", rows.text(key, shape.count + 1) ?? ""]
          }
          break
        }
        json.appendComma()
        shape.append(rows, row, to: &json)
        shown += 1
      }
      json.append(UInt8(ascii: "]"))
      if let next {
        json.appendMember("next_cursor", page.encode(next))
      } else {
        json.appendMember("next_cursor", json: "null")
      }
    }
    return .json(json)
  }
}
