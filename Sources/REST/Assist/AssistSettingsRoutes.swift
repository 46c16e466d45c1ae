/// The endpoint that writes drafts for the operators of a workspace: its address, model and limits.
/// Its key is written and never returned.
import Assist
import Directory
import JSON
import Primitives
import Webhooks

struct AssistSettingsRoutes: RouteGroup {
  let api: API

  /// Tokens that a workspace may spend, unless it chooses other limits.
  static let tokensPerDay: Int64 = 100_000
  static let tokensPerMonth: Int64 = 1_000_000
  static let tokensRange: ClosedRange<Int64> = 1...1_000_000_000
  /// The time for one answer.
  static let timeoutSeconds: Int64 = 60
  static let timeoutRange: ClosedRange<Int64> = 5...120
  /// On what automatic answers are based.
  static let grounds = ["off", "replies", "conversations"]
  static let noticeBytesMax = 500
  static let notice = "This is an automatic answer. A colleague reads your message later."

  func show(_ call: Call) async throws(Problem) -> APIResponse {
    let settings = try await api.database.run(AssistSettings.find(in: call.workspace))
    return try await .json(body(settings, call))
  }

  /// Creates or replaces the settings; members that are missing or null keep their values.
  func put(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    let stored = try await api.database.run(AssistSettings.find(in: call.workspace))
    let endpoint = try endpoint(object)
    let model = try object.requiredString("model", bytesMax: APILimits.modelBytes)
    guard model.utf8.allSatisfy({ 0x20...0x7E ~= $0 }) else {
      throw .invalidMember("model", "a name in ASCII characters")
    }
    let uses = try object.strings(
      "uses", countMax: AssistUse.allCases.count, bytesMax: APILimits.modelBytes)
    guard (uses ?? []).allSatisfy({ AssistUse(rawValue: $0) != nil }) else {
      throw .invalidMember(
        "uses", "an array of \(AssistUse.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    let settings = AssistSettings(
      workspace: call.workspace,
      isEnabled: try object.bool("enabled") ?? stored?.isEnabled ?? false,
      uses: AssistUse.allCases.map(\.rawValue).filter { (uses ?? stored?.uses ?? []).contains($0) },
      endpoint: endpoint, model: model, key: try key(object, endpoint, stored, call),
      tokenLimit: try object.word(
        "token_limit", of: CompletionRequest.TokenLimit.allCases.map(\.rawValue))
        ?? stored?.tokenLimit ?? CompletionRequest.TokenLimit.maxTokens.rawValue,
      tokensPerDay: try object.int("tokens_per_day", in: AssistSettingsRoutes.tokensRange)
        ?? stored?.tokensPerDay ?? AssistSettingsRoutes.tokensPerDay,
      tokensPerMonth: try object.int("tokens_per_month", in: AssistSettingsRoutes.tokensRange)
        ?? stored?.tokensPerMonth ?? AssistSettingsRoutes.tokensPerMonth,
      timeoutSeconds: try object.int("timeout_seconds", in: AssistSettingsRoutes.timeoutRange)
        ?? stored?.timeoutSeconds ?? AssistSettingsRoutes.timeoutSeconds,
      automatic: try object.word("automatic", of: AssistSettingsRoutes.grounds)
        ?? stored?.automatic ?? "off",
      automaticNotice: try object.nonEmptyString(
        "automatic_notice", bytesMax: AssistSettingsRoutes.noticeBytesMax)
        ?? stored?.automaticNotice ?? AssistSettingsRoutes.notice)
    try await api.database.run(settings.put(by: call.actor))
    return try await .json(body(settings, call))
  }

  func delete(_ call: Call) async throws(Problem) -> APIResponse {
    try await api.delete(AssistSettings.delete(by: call.actor))
  }

  private func endpoint(_ object: JSONObject) throws(Problem) -> String {
    let text = try object.requiredString("endpoint", bytesMax: AssistEndpoint.bytesMax)
    do throws(AssistEndpoint.Fault) {
      return try AssistEndpoint(text, under: api.options.webhookGuard).base
    } catch {
      let expected =
        switch error {
        case .notSecure: "an address that begins with https://"
        case .hasQuery: "an address without “?”, such as https://api.example.com/v1"
        case .address(.privateAddress), .address(.portForbidden):
          "an address of the public internet; this gateway's administrator can allow private "
            + "networks (webhooks_allow_private)"
        case .address, .tooLong: "an address such as https://api.example.com/v1"
        }
      throw .invalidMember("endpoint", expected)
    }
  }

  /// The key of the body, else the stored one if it belongs to the same endpoint.
  private func key(
    _ object: JSONObject, _ endpoint: String, _ stored: AssistSettings?, _ call: Call
  ) throws(Problem) -> SecretBox.Sealed? {
    let text = try object.nonEmptyString("api_key", bytesMax: APILimits.endpointKeyBytes)
    guard let text else { return stored?.endpoint == endpoint ? stored?.key : nil }
    guard text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
      throw .invalidMember("api_key", "a key in ASCII characters without blanks")
    }
    return api.options.secrets.seal(
      Array(text.utf8), place: AssistSettings.place(in: call.workspace, endpoint: endpoint))
  }

  private func body(_ settings: AssistSettings?, _ call: Call) async throws(Problem) -> [UInt8] {
    let spent = try await api.database.run(AssistUsage.spent(in: call.workspace))
    return .object { json in
      json.appendMember("tokens_today", spent.today)
      json.appendMember("tokens_this_month", spent.month)
      guard let settings else {
        return json.appendMember("assist", json: "null" as StaticString)
      }
      json.appendObject("assist") { json in
        json.appendMember("enabled", settings.isEnabled)
        json.appendMember("uses", texts: settings.uses)
        json.appendMember("endpoint", settings.endpoint)
        json.appendMember("model", settings.model)
        json.appendMember("has_key", settings.key != nil)
        json.appendMember("token_limit", settings.tokenLimit)
        json.appendMember("tokens_per_day", settings.tokensPerDay)
        json.appendMember("tokens_per_month", settings.tokensPerMonth)
        json.appendMember("timeout_seconds", settings.timeoutSeconds)
        json.appendMember("automatic", settings.automatic)
        json.appendMember("automatic_notice", settings.automaticNotice)
      }
    }
  }
}
