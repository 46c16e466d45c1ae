/// Schemas of actions and macros.
import Chat
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
  static let macroRun = input(["ids": sessionIDs]).named("MacroRun")
}
