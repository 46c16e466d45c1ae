/// Tags, with which operators sort conversations.
import Directory
import JSON
import Primitives

struct TagRoutes: RouteGroup {
  let api: API

  static let tag = RowShape([
    ("name", .text), ("colour", .optional(.text)), ("conversations", .int), ("created_at", .time),
  ])

  func listTags(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("tags")
    return try await api.list(
      page, TagRoutes.tag,
      Tags.page(of: call.workspace, after: page.text(0), limit: page.rowsWanted))
  }

  func putTag(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    let colour = try object.string("colour", bytesMax: 7)
    if let colour, !isColour(colour) {
      throw .invalidMember("colour", "a colour as #rrggbb in lower case")
    }
    let name = try tagName(call.parameters.text("name"))
    let isCreateOnly = try call.isCreateOnly
    return try await api.row(
      "tag", TagRoutes.tag,
      Tags.put(name, colour: colour, isCreateOnly: isCreateOnly, by: call.actor),
      orElse: try await api.notWritten(
        Tags.exists(name, in: call.workspace), isCreateOnly: isCreateOnly,
        orElse: .tooMany("tags", Tags.countMax)))
  }

  func deleteTag(_ call: Call) async throws(Problem) -> APIResponse {
    try await api.delete(
      Tags.delete(call.parameters.text("name"), by: call.actor), from: api.expensiveDatabase)
  }
}

/// A name as the table `tags` accepts it, and as a path can contain it.
func tagName(_ name: String) throws(Problem) -> String {
  guard (1...50).contains(name.unicodeScalars.count), name.first != " ", name.last != " ",
    isPathName(name)
  else {
    throw .invalid(
      "A tag must have 1 to 50 characters, without slashes, control characters, and spaces at its "
        + "ends.")
  }
  return name
}

/// `#rrggbb` in lower case.
private func isColour(_ text: String) -> Bool {
  text.utf8.count == 7 && text.utf8.first == UInt8(ascii: "#")
    && text.utf8.dropFirst().allSatisfy {
      hexadecimalValue($0) != nil && $0.lowercasedASCII == $0
    }
}
