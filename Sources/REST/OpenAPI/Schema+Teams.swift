/// Schemas of teams.
import Conversations
import Directory

extension Schema {
  private static let team = TeamRoutes.team.schema.named("Team")
  static let teams = page("teams", of: team).named("Teams")
  static let oneTeam = object(["team": team]).named("TeamAnswer")

  static let teamMember = object(["id": id, "name": text]).named("TeamMember")

  static let targetMinutes = int(0...Int64(SettingLimits.targetMinutes))

  private static let teamName = string(
    1...APILimits.tagBytes,
    pattern: #"^[^\x00-\x20\x7f]([^\x00-\x1f\x7f]{0,48}[^\x00-\x20\x7f])?$"#)
  private static let teamMembers: [String: Schema] = [
    "assign": word(Teams.assignments).orNull.described("Null: as the workspace."),
    "capacity": int(1...1_000).orNull.described("Null: as the workspace."),
    "overflow_after_minutes": int(0...10_080).orNull.described(
      "While no member is available, conversations that wait so long are for every operator; null: "
        + "never."),
    "first_response_minutes": targetMinutes.orNull,
    "resolution_minutes": targetMinutes.orNull,
    "languages": array(
      of: string(
        2...SettingLimits.localeBytes, pattern: "^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$"),
      0...Teams.languagesMax
    ).described("The languages that it speaks, for rules that choose by the visitor's language."),
    "hours": hoursInput.orNull.described("Null: those of the workspace."),
  ]
  static let newTeam = input(["name": teamName], optional: teamMembers).named("NewTeam")
  static let teamPatch = input(
    optional: teamMembers.merging(["name": teamName]) { first, _ in first }
  ).named("TeamPatch")
  static let teamMembersChange = input([
    "members": array(of: id, 0...Int(Teams.membersMax)).described("The ids of operators.")
  ]).named("TeamMembers")
}
