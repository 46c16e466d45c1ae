/// Secrets of other services: written, replaced and deleted, never returned.
import Directory
import JSON
import Primitives

struct CredentialRoutes: RouteGroup {
  let api: API

  static let credential = RowShape([
    ("provider", .text), ("name", .text), ("updated_at", .time),
  ])

  func listCredentials(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("credentials", keys: 2)
    let last = page.text(0).map { ($0, page.text(1) ?? "") }
    return try await api.list(
      page, CredentialRoutes.credential,
      Credentials.page(of: call.workspace, after: last, limit: page.rowsWanted))
  }

  func putCredential(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    let provider = call.parameters.text("provider")
    guard isProvider(provider) else {
      throw .invalid(
        "The name of a service must have 1 to 64 lower-case letters, digits, - and _, and begin "
          + "with a letter, such as “line”.")
    }
    let name = try object.string("name", bytesMax: APILimits.nameBytes) ?? "default"
    guard isCredentialName(name) else {
      throw .invalidMember("name", "1 to 100 characters without control characters")
    }
    let secret = try object.requiredString("secret", bytesMax: APILimits.credentialBytes)
    let isCreateOnly = try call.isCreateOnly
    let sealed = api.options.secrets.seal(
      Array(secret.utf8), place: Credentials.place(provider, name, in: call.workspace))
    return try await api.row(
      "credential", CredentialRoutes.credential,
      Credentials.put(provider, name, secret: sealed, isCreateOnly: isCreateOnly, by: call.actor),
      orElse: try await api.notWritten(
        Credentials.exists(provider, name, in: call.workspace), isCreateOnly: isCreateOnly,
        orElse: .tooMany("credentials", Credentials.countMax)))
  }

  /// `?name=` chooses one of several credentials of a service.
  func deleteCredential(_ call: Call) async throws(Problem) -> APIResponse {
    let name = try QueryString(call.request.query)["name"] ?? "default"
    return try await api.delete(
      Credentials.delete(call.parameters.text("provider"), name, by: call.actor))
  }

  /// As the table `credentials` accepts it.
  private func isProvider(_ text: String) -> Bool {
    guard let first = text.utf8.first, first.isLowercaseASCIILetter, text.utf8.count <= 64 else {
      return false
    }
    return text.utf8.allSatisfy {
      $0.isLowercaseASCIILetter || $0.isASCIIDigit || $0 == UInt8(ascii: "_")
        || $0 == UInt8(ascii: "-")
    }
  }

  private func isCredentialName(_ name: String) -> Bool {
    (1...100).contains(name.unicodeScalars.count)
      && name.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
  }
}
