/// Teams of operators: departments with members, business hours, capacity and languages.
import Chat
import Conversations
import Directory
import JSON
import Postgres
import Primitives

struct TeamRoutes: RouteGroup {
  let api: API

  static let team = RowShape([
    ("id", .id), ("name", .text), ("assign", .optional(.word(Teams.assignments))),
    ("capacity", .optional(.int)), ("overflow_after_minutes", .optional(.int)),
    ("first_response_minutes", .optional(.int)), ("resolution_minutes", .optional(.int)),
    ("languages", .texts), ("hours", .optional(.json(.hours))),
    ("members", .json(.array(of: .teamMember))), ("available", .bool), ("waiting", .int),
    ("created_at", .time),
  ])

  func listTeams(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("teams")
    return try await api.list(
      page, TeamRoutes.team,
      Teams.page(of: call.workspace, after: page.text(0), limit: page.rowsWanted))
  }

  private func showTeam(
    _ id: Identifier, status: Int = 200, _ call: Call
  ) async throws(Problem) -> APIResponse {
    try await api.row("team", TeamRoutes.team, status: status, Teams.find(id, in: call.workspace))
  }

  func addTeam(_ call: Call) async throws(Problem) -> APIResponse {
    let change = try await change(try call.request.jsonObject())
    guard change.name != nil else { throw .missing("name") }
    let id = call.newID()
    try check(try await api.database.run(Teams.add(id, change, by: call.actor)))
    return try await showTeam(id, status: 201, call)
  }

  func changeTeam(_ call: Call) async throws(Problem) -> APIResponse {
    let change = try await change(try call.request.jsonObject())
    try check(try await api.database.run(Teams.change(call.id, change, by: call.actor)))
    queueChanged(call)
    return try await showTeam(call.id, call)
  }

  /// Replaces the members. Conversations that an operator has stay with the operator.
  func setMembers(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    let texts = try object.strings("members", countMax: Int(Teams.membersMax), bytesMax: 36)
    guard let texts else { throw .missing("members") }
    var members: [Identifier] = []
    for text in texts {
      guard let id = Identifier(text) else {
        throw .invalidMember("members", "an array of the ids of operators")
      }
      members.append(id)
    }
    let isValid = try await api.database.run(
      Teams.setMembers(members, of: call.id, by: call.actor))
    guard let isValid else { throw .noSuchResource }
    guard isValid else { throw .noSuchTeamMember }
    queueChanged(call)
    return try await showTeam(call.id, call)
  }

  /// Its conversations are then without a team. Closed ones may be many, so they leave it in
  /// transactions of `Teams.releasedMax`.
  func deleteTeam(_ call: Call) async throws(Problem) -> APIResponse {
    while true {
      let released = try await api.expensiveDatabase.run(Teams.release(call.id, in: call.workspace))
      for session in released.open { api.sessions.changed(session: session) }
      if released.count < Teams.releasedMax { break }
    }
    let response = try await api.delete(Teams.delete(call.id, by: call.actor))
    queueChanged(call)
    return response
  }

  /// Waiting conversations may now be for other operators.
  private func queueChanged(_ call: Call) {
    api.sessions.happened(WorkspaceNews(workspace: call.workspace, kind: .operators))
  }

  private func check(_ outcome: Teams.Outcome?) throws(Problem) {
    switch outcome {
    case .done?: break
    case .nameTaken?:
      throw .conflict("The workspace already has a team with this name. Choose another one.")
    case .full?: throw .tooMany("teams", Teams.countMax)
    case nil: throw .noSuchResource
    }
  }

  private func change(_ object: JSONObject) async throws(Problem) -> Teams.Change {
    var change = Teams.Change()
    if let name = try object.string("name", bytesMax: APILimits.tagBytes) {
      change.name = try teamName(name)
    }
    if object.has("assign") {
      change.assign = .some(try object.word("assign", of: Teams.assignments))
    }
    if object.has("capacity") { change.capacity = .some(try object.int("capacity", in: 1...1_000)) }
    if object.has("overflow_after_minutes") {
      change.overflowAfterMinutes = .some(
        try object.int("overflow_after_minutes", in: 0...10_080))
    }
    let minutes = 0...Int64(SettingLimits.targetMinutes)
    if object.has("first_response_minutes") {
      change.firstResponseMinutes = .some(try object.int("first_response_minutes", in: minutes))
    }
    if object.has("resolution_minutes") {
      change.resolutionMinutes = .some(try object.int("resolution_minutes", in: minutes))
    }
    change.languages = try languages(object)
    if object.has("hours") { change.hours = .some(try await hours(object)) }
    return change
  }

  private func languages(_ object: JSONObject) throws(Problem) -> [String]? {
    let tags = try object.strings(
      "languages", countMax: Teams.languagesMax, bytesMax: SettingLimits.localeBytes)
    for tag in tags ?? [] {
      guard tag.wholeMatch(of: /[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*/) != nil else {
        throw .invalidMember("languages", "an array of language tags, such as de or pt-BR")
      }
    }
    return tags
  }

  /// The hours as the workspace's setting has them, with all members; nil: those of the workspace.
  private func hours(_ object: JSONObject) async throws(Problem) -> [UInt8]? {
    guard let text = try object.object("hours", bytesMax: SettingLimits.valueBytes) else {
      return nil
    }
    guard let value = JSONValue(text) else { throw .unstorable("hours", in: object) }
    if let fault = WorkspaceSettings.check(.hours, value) {
      throw .invalid("hours: \(fault)").at(object.pointer(to: "hours"))
    }
    var settings = WorkspaceSettings()
    settings.read(.hours, value)
    try await SettingsRoutes(api).checkTimeZone(value, at: "/hours/time_zone")
    return settings.value(.hours).text
  }
}

/// A name as the table `chat_teams` accepts it.
private func teamName(_ name: String) throws(Problem) -> String {
  guard (1...50).contains(name.unicodeScalars.count), name.first != " ", name.last != " ",
    !name.unicodeScalars.contains(where: { $0.value < 32 || $0.value == 127 })
  else {
    throw .invalidMember(
      "name", "1 to 50 characters, without control characters and spaces at its ends")
  }
  return name
}

extension Problem {
  static let noSuchTeamMember = Problem(
    status: 422, type: "no_such_member", title: "No such operator",
    detail: "An id in “members” is not that of an operator of this workspace. Reload the list of "
      + "operators, and choose again.")
}
