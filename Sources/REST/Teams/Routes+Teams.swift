/// Teams of operators.
extension API {
  static let teamRoutes: [Route] = [
    Route(
      "GET", "\(admin)/teams", .member(.agent, .membersRead, TeamRoutes.listTeams),
      "List the teams with their members, in the order of their names", query: .page,
      response: .teams),
    Route(
      "POST", "\(admin)/teams", .member(.admin, .settingsWrite, TeamRoutes.addTeam),
      "Create a team", body: .newTeam, status: 201, response: .oneTeam, event: "team.added"),
    Route(
      "PATCH", "\(admin)/teams/{id}", .member(.admin, .settingsWrite, TeamRoutes.changeTeam),
      "Change a team", body: .teamPatch, response: .oneTeam, event: "team.changed"),
    Route(
      "PUT", "\(admin)/teams/{id}/members", .member(.admin, .settingsWrite, TeamRoutes.setMembers),
      "Replace the members of a team", body: .teamMembersChange, response: .oneTeam,
      event: "team.members_changed"),
    Route(
      "DELETE", "\(admin)/teams/{id}", .member(.admin, .settingsWrite, TeamRoutes.deleteTeam),
      "Delete a team; its conversations are then without one", status: 204, isExpensive: true,
      event: "team.deleted"),
  ]
}
