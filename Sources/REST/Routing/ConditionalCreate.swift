/// Making what a path names, and not changing what is there already (`If-None-Match: *`, RFC 9110
/// §13.1.2). The statement that writes decides, so that of two who make the same at once one does.
import Directory
import Postgres
import Primitives

extension Call {
  /// Whether only something new is to be written.
  var isConditionalCreate: Bool {
    get throws(Problem) {
      let values = request.headers.filter { $0.name.equalsIgnoringASCIICase("If-None-Match") }
      guard let value = values.first?.value else { return false }
      guard values.count == 1, value == "*" else { throw .wrongCondition }
      return true
    }
  }
}

extension API {
  /// Why a statement wrote nothing: it should have made what `taken` finds, or there is no room.
  func unwritten(
    _ taken: Query, isConditionalCreate: Bool, orElse full: Problem
  ) async throws(Problem) -> Problem {
    guard isConditionalCreate, try await run(Statement(taken) { !$0.isEmpty }) else { return full }
    return .isThere
  }
}

extension Problem {
  static let isThere = Problem(
    status: 412, type: "precondition_failed", title: "It is there already",
    detail: "Something of this name is there; choose another name, or change that one.")

  /// Nothing that can be written has an entity tag.
  static let wrongCondition = Problem.invalid(
    "If-None-Match may only be *, which writes only what is not there yet.")
}
