/// Whether the endpoint that is saved works: one small request, whose result is shown in words.
/// Nothing of it is stored but its tokens.
import Assist
import Directory
import JSON
import Kernel
import Primitives

struct AssistTrialRoutes: RouteGroup {
  let api: API

  /// The most time for a trial, within that of the settings.
  private static let millisecondsMax: Int64 = 20_000

  func run(_ call: Call) async throws(Problem) -> APIResponse {
    let start = SystemClock.now()
    let member = try call.member
    guard let settings = try await api.database.run(AssistSettings.find(in: call.workspace)),
      settings.isEnabled
    else { throw .assistNotTried }
    let access = try AssistRun.access(settings, api.options)
    try api.servers.drafts.enter(member.id, of: member.workspace, now: call.request.now)
    defer { api.servers.drafts.leave(member.id, of: member.workspace) }
    let run = try await AssistRun(
      .trial, .trial, settings, access,
      milliseconds: min(settings.timeoutSeconds * 1_000, AssistTrialRoutes.millisecondsMax),
      api: api, now: call.request.now)
    var answer = ""
    let end = await run.run(since: start) { text in
      answer += text ?? ""
      return true
    }
    return .json(
      [UInt8].object { json in
        json.appendMember("works", end.result.fault == nil)
        json.appendMember("problem", orNull: end.result.fault?.name.rawValue)
        json.appendMember("detail", end.sentence)
        json.appendMember("answer", answer)
        json.appendMember("first_text_milliseconds", orNull: end.firstTextMilliseconds)
        json.appendMember("tokens", end.tokens)
      })
  }
}

extension AssistRun.End {
  fileprivate var sentence: String {
    if let fault = result.fault { return fault.sentence }
    guard let milliseconds = firstTextMilliseconds else {
      return "The endpoint answered without text. Some models need the other length limit."
    }
    return "The endpoint works: the first text came after \(milliseconds) ms."
  }
}

extension Problem {
  static let assistNotTried = Problem(
    status: 409, type: "assist_off", title: "Assist is off",
    detail: "Turn Assist on and save it first: until then the gateway connects to no endpoint.")
}
