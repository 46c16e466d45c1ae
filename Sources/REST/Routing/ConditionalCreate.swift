/// Creating the resource that the path names without changing an existing one (`If-None-Match: *`,
/// RFC 9110 §13.1.2). The statement that writes decides, so that one of two simultaneous requests
/// succeeds.
import Directory
import Primitives

extension Call {
  /// Whether an existing resource must stay as it is.
  var isCreateOnly: Bool {
    get throws(Problem) {
      let values = request.headerValues("If-None-Match")
      guard let value = values.first else { return false }
      guard values.count == 1, value == "*" else { throw .unsupportedCondition }
      return true
    }
  }
}

extension API {
  /// The problem after a statement that wrote nothing: either the resource exists, which
  /// `If-None-Match: *` forbids, or the workspace has too many.
  func notWritten(
    _ exists: Statement<Bool>, isCreateOnly: Bool, orElse tooMany: Problem
  ) async throws(Problem) -> Problem {
    guard isCreateOnly, try await database.run(exists) else { return tooMany }
    return .alreadyExists
  }
}

extension Problem {
  static let alreadyExists = Problem(
    status: 412, type: "precondition_failed", title: "Already exists",
    detail: "The workspace already has this name, and “If-None-Match: *” allows creating only. "
      + "Choose another name, or omit the header to change the existing one.")

  static let unsupportedCondition = Problem.invalid(
    "The header If-None-Match must be *; entity tags are not supported.")
}
