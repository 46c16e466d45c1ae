/// The members of bulk changes, macros and saved views.
extension MemberTexts {
  /// See `table`.
  static let actionsTable = #"""
    BulkChange.actions | The actions, in order. |
    Macro.actions | The actions, in order. |
    MacroPatch.actions | The actions, in order. |
    NewMacro.actions | The actions, in order. |
    actions_done | Actions that were carried out. | 2
    ActionResults.results | What came of it, by conversation, in the order of the ids. |
    Macros.macros | The macros, by name. |
    View.count | The conversations in it; 1,000 or more are 1,000. | 12
    View.filters | Parameters of the list of conversations. |
    NewView.filters | Parameters of the list of conversations. |
    ViewPatch.filters | Parameters of the list of conversations, which replace the former ones. |
    Views.views | The views, by name. |
    ViewFilters.team | The id of a team, or none. |
    ViewFilters.assignee | The id of an operator, me or none. |
    ViewFilters.tag | A tag. | billing
    ViewFilters.status | waiting, active or open (both). | waiting
    ViewFiltersInput.team | The id of a team, or none. |
    ViewFiltersInput.assignee | The id of an operator, me or none. |
    ViewFiltersInput.tag | A tag. | billing
    ViewFiltersInput.status | waiting, active or open (both). | waiting
    ViewFilters.language | A language tag of the visitor’s browser; de matches de-AT. | de
    ViewFilters.waiting_minutes | The least minutes that it has waited. | 10
    ViewFilters.due_minutes | A target is due within so many minutes, or was missed. | 15
    ViewFilters.attribute | An attribute of the visitor, as name=value. | plan=pro
    ViewFilters.channel | Where the visitor writes: web or line. | line
    """#
}
