/// Reads the configuration of the gateway again, for `chirrup reload`.
import JSON

public protocol Reloader: Sendable {
  /// - Parameter isCheck: only report; change nothing.
  /// - Returns: nil if too many calls wait, or the gateway stops.
  func reload(isCheck: Bool) async -> ReloadReport?
}

/// The result of reading the configuration again. It contains no secret.
public struct ReloadReport: Sendable, Equatable {
  public struct Change: Sendable, Equatable {
    /// The setting's path in the YAML file.
    public var setting: String
    /// The values; nil for a secret.
    public var before: String?
    public var after: String?

    public init(setting: String, before: String?, after: String?) {
      self.setting = setting
      self.before = before
      self.after = after
    }
  }

  /// Changes that the gateway uses now, or would use after a check.
  public var applied: [Change] = []
  /// Changes that a restart applies.
  public var waiting: [Change] = []
  public var warnings: [String] = []
  /// Why nothing was changed; nil: the configuration is valid.
  public var refusal: String?

  public init() {}

  var json: [UInt8] {
    [UInt8].object { json in
      json.appendArray("applied", applied) { $0.append(to: &$1) }
      json.appendArray("waiting", waiting) { $0.append(to: &$1) }
      json.appendMember("warnings", texts: warnings)
    }
  }
}

extension ReloadReport.Change {
  fileprivate func append(to json: inout [UInt8]) {
    json += [UInt8].object { json in
      json.appendMember("setting", setting)
      json.appendMember("before", orNull: before)
      json.appendMember("after", orNull: after)
    }
  }
}

extension API {
  /// `POST /reload` at the listeners of `admin_listen`; with `check=true` it only reports.
  func reloadForInstance(_ request: APIRequest) async throws(Problem) -> APIResponse {
    guard request.method == "POST" else { throw .wrongMethod(allowed: ["POST"]) }
    let isCheck = try QueryString(request.query).isTrue("check")
    let report = await options.reloader?.reload(isCheck: isCheck)
    options.onResume()
    guard let report else { throw .cannotReload }
    if let refusal = report.refusal { throw .refusedSettings(refusal) }
    return .json(report.json)
  }
}

extension QueryString {
  fileprivate func isTrue(_ name: String) throws(Problem) -> Bool {
    switch self[name] {
    case nil, "false"?: return false
    case "true"?: return true
    default: throw .invalidParameter(name, "true or false")
    }
  }
}

extension Problem {
  fileprivate static func refusedSettings(_ reason: String) -> Problem {
    Problem(status: 422, type: "invalid_settings", title: "Invalid settings", detail: reason)
  }

  fileprivate static let cannotReload = Problem(
    status: 503, type: "cannot_reload", title: "Cannot reload",
    detail: "The gateway is starting or stopping, or other reloads are waiting. Try again in a few "
      + "seconds."
  ).retry(afterSeconds: 2)
}
