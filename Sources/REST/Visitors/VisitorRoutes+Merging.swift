/// Merging of two visitors who are one person: the search for the other one, preview and merge.
import Chat
import Conversations
import Directory
import JSON
import Postgres
import Primitives

extension VisitorRoutes {
  /// Visitors of one response.
  static let searchMax = 20
  /// The fields that `take` may name.
  static let takenFields = ["name", "email"]

  func searchVisitors(_ call: Call) async throws(Problem) -> APIResponse {
    let query = try QueryString(call.request.query)
    guard let words = try query.search("q") else { throw .invalidParameter("q", "given") }
    let except = try identifier("except", query)
    let limit = Int(
      try query.int("limit", in: 1...Int64(VisitorRoutes.searchMax))
        ?? Int64(VisitorRoutes.searchMax))
    let rows = try await api.expensiveDatabase.rows(
      Visitor.search(words, except: except, in: call.workspace, limit: limit))
    return .json(
      [UInt8].object { json in
        json.appendArray("visitors", 0..<rows.count) {
          VisitorRoutes.visitor.append(rows, $0, to: &$1)
        }
      })
  }

  private func identifier(
    _ name: String, _ query: QueryString
  ) throws(Problem) -> Identifier? {
    guard let text = query.formatted(name) else { return nil }
    guard let id = Identifier(text) else { throw .invalidParameter(name, "the id of a visitor") }
    return id
  }

  /// Both visitors as they are, who of them survives, and the attributes after the merge.
  func previewMerge(_ call: Call) async throws(Problem) -> APIResponse {
    guard try await visitorJSON(call.id, in: call.workspace) != nil else { throw .noSuchResource }
    let query = try QueryString(call.request.query)
    guard let other = try identifier("visitor", query) else {
      throw .invalidParameter("visitor", "the id of a visitor")
    }
    let rows = try await api.database.rows(
      VisitorMerge(of: other, into: call.id).preview(in: call.workspace))
    let verdict = rows.text(0, 0) ?? ""
    if let refusal = VisitorMerge.Refusal(rawValue: verdict) {
      throw .merge(refusal)
    }
    let width = VisitorRoutes.visitor.count
    let isDone = rows.uuid(0, 1 + width) == nil
    return .json(
      [UInt8].object { json in
        json.appendKey("visitor")
        VisitorRoutes.visitor.append(rows, 0, from: 1, to: &json)
        json.appendKey("other")
        if isDone {
          json.append("null" as StaticString)
        } else {
          VisitorRoutes.visitor.append(rows, 0, from: 1 + width, to: &json)
        }
        json.appendMember("attributes", json: rows.bytes(0, 1 + 2 * width) ?? Array("{}".utf8))
      })
  }

  /// A merge cannot be undone. The answer is the surviving visitor, also to a repeated request.
  func mergeVisitors(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    guard let other = try object.identifier("visitor") else { throw .missing("visitor") }
    let taken = try object.strings("take", countMax: VisitorRoutes.takenFields.count, bytesMax: 16)
    for field in taken ?? [] where !VisitorRoutes.takenFields.contains(field) {
      throw .invalidMember("take", "an array of “name” and “email”")
    }
    let outcome = try await api.expensiveDatabase.run(
      VisitorMerge(of: other, into: call.id).statement(
        taking: VisitorMerge.Taken(
          name: taken?.contains("name") == true, email: taken?.contains("email") == true),
        by: call.actor, now: call.request.now))
    switch outcome {
    case .refused(let refusal):
      throw .merge(refusal)
    case .done(let result):
      for session in result.newest { api.sessions.changed(session: session, of: call.workspace) }
      if result.isBlocked {
        // The other one may have come with open conversations.
        try await disconnect(visitor: result.survivor, of: call.workspace)
        try await closeWaiting(of: result.survivor, call)
      }
      guard let visitor = try await visitorJSON(result.survivor, in: call.workspace) else {
        throw .noSuchResource
      }
      return .json(
        [UInt8].object { json in
          json.appendMember("visitor", json: visitor)
          json.appendMember("moved_conversations", result.moved)
        })
    }
  }

  /// Ends the connections of a visitor and of those merged into this one.
  func disconnect(visitor: Identifier, of workspace: Identifier) async throws(Problem) {
    try await api.disconnect(
      Set(try await api.database.run(Visitor.group(of: visitor, in: workspace))))
  }
}

extension Problem {
  fileprivate static func merge(_ refusal: VisitorMerge.Refusal) -> Problem {
    switch refusal {
    case .noSuchVisitor: .noSuchResource
    case .noSuchOther: .noSuchOtherVisitor
    case .same: .conflict("A visitor cannot be merged with itself. Choose another one.")
    case .twoIdentities: .twoIdentities
    case .full: .mergedTooOften
    }
  }

  static let noSuchOtherVisitor = Problem(
    status: 422, type: "no_such_visitor", title: "No such visitor",
    detail: "Your workspace has no visitor with the id “visitor”. Search for the visitor first.")

  static let twoIdentities = Problem(
    status: 409, type: "two_identities", title: "Two identities",
    detail: "Both visitors have an id of your site (external_id), so they are two customers there. "
      + "Only a visitor without one can be merged into another.")

  static let mergedTooOften = Problem(
    status: 409, type: "too_many", title: "Too many",
    detail: "Together these visitors have \(VisitorMerge.mergedMax) merged ones, the most that a "
      + "visitor may have.")
}
