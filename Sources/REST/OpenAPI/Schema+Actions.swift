/// Schemas of actions, macros and saved views.
import Chat
import Conversations
import Directory

extension Schema {
  private static let sessionIDs = array(of: id, 1...ActionRun.conversationsMax)
    .described("Conversations, at most \(ActionRun.conversationsMax).")
  private static let actionTags = array(of: tagName, 1...APILimits.tagsOfConversation)
  private static let actionText = string(1...Limits.bodyBytes)
  private static let action = any(of: [
    input([
      "type": word(["reply"]),
      "text": actionText.described("The message. {{visitor.name}} and so on are filled in."),
    ]),
    input([
      "type": word(["reply"]),
      "object": string(1...APILimits.tagBytes).described("The name of a reply object with a text."),
    ]),
    input(["type": word(["note"]), "text": actionText]),
    input(["type": word(["add_tags", "remove_tags"]), "tags": actionTags]),
    input([
      "type": word(["assign"]),
      "to": any(of: [word(["me", "queue"]), id])
        .described("The caller, the queue, or the id of an operator."),
    ]),
    input([
      "type": word(["assign"]),
      "to_team": id.orNull.described("The id of a team, which takes it; null: every operator."),
    ]),
    input(["type": word(["reopen"])]),
    input(["type": word(["close"])], optional: ["reason": string(0...APILimits.reasonBytes)]),
  ]).named("Action")
  private static let actions = array(of: action, 1...ConversationAction.countMax)

  static let bulkChange = input(["ids": sessionIDs, "actions": actions]).named("BulkChange")
  static let actionResults = object([
    "results": array(
      of: object([
        "id": id,
        "outcome": word(ActionRun.Outcome.allCases.map(\.rawValue)).described(
          "unchanged: everything was so already; failed: see `problem`."),
        "actions_done": count.described("Actions that were carried out."),
        "closed_by": named.orNull.described("The operator who had closed it before."),
        "problem": problem.orNull.described("Why the next action was refused."),
      ]).named("ActionResult")),
    "done_count": count, "unchanged_count": count, "failed_count": count,
  ]).named("ActionResults")

  private static let itemName = string(
    1...SharedItemRoutes.nameCharactersMax,
    pattern: #"^[^\x00-\x1f\x7f]*[^\x00-\x20\x7f][^\x00-\x1f\x7f]*$"#)
  private static let macro = MacroRoutes.macro.schema.named("Macro")
  static let macros = page("macros", of: macro).named("Macros")
  static let oneMacro = object(["macro": macro]).named("MacroAnswer")
  static let newMacro = input(
    ["name": itemName, "actions": actions], optional: ["is_shared": bool]
  ).named("NewMacro")
  static let macroPatch = input(
    optional: ["name": itemName, "actions": actions, "is_shared": bool]
  ).named("MacroPatch")
  static let assigneeFilter = any(of: [
    word(["me", "none"]), id.described("The id of an operator."),
  ])
  static let teamFilter = any(of: [word(["none"]), id.described("The id of a team.")])
  static let languageFilter = string(pattern: "^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$")
    .described("A language tag of the visitor’s browser; de matches de-AT.")
  static let waitingFilter = int(1...OpenFilters.minutesMax)
    .described("The least minutes that it has waited.")
  static let dueFilter = int(0...OpenFilters.minutesMax)
    .described("A target is due within so many minutes, or was missed.")
  static let attributeFilter = string(pattern: #"^[^=\x00-\x1f\x7f]+=[^\x00-\x1f\x7f]*$"#)
    .described("An attribute of the visitor, as name=value.")
  static let channelFilter = string(pattern: "^[a-z][a-z0-9_-]{0,31}$")
    .described("Where the visitor writes: web, line, or the channel of imported conversations.")

  /// Parameters of the list of conversations.
  private static let filters: [String: Schema] = [
    "status": word(OpenFilters.statuses), "assignee": assigneeFilter, "team": teamFilter,
    "tag": line(1...APILimits.tagBytes), "language": languageFilter,
    "waiting_minutes": waitingFilter, "due_minutes": dueFilter, "attribute": attributeFilter,
    "channel": channelFilter,
  ]
  static let viewFilters = object(["status": word(OpenFilters.statuses)], sometimes: filters)
    .named("ViewFilters")
  private static let filtersInput = input(optional: filters).named("ViewFiltersInput")
  private static let view = ViewRoutes.view.schema.named("View")
  static let views = page("views", of: view).named("Views")
  static let oneView = object(["view": view]).named("ViewAnswer")
  static let newView = input(
    ["name": itemName, "filters": filtersInput], optional: ["is_shared": bool]
  ).named("NewView")
  static let viewPatch = input(
    optional: ["name": itemName, "filters": filtersInput, "is_shared": bool]
  ).named("ViewPatch")

  static let macroRun = input(["ids": sessionIDs]).named("MacroRun")
}
