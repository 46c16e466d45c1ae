/// The members of Assist: the endpoint that writes drafts and automatic answers, and its trial.
extension MemberTexts {
  /// See `table`.
  static let assistTable = #"""
    AssistChange.api_key | The key of the endpoint. | sk-…
    Assist.endpoint | The base address of the API. | https://api.example.com/v1
    AssistChange.endpoint | The base address of the API. | https://api.example.com/v1
    model | The name of the model. | small-1
    has_key | Whether a key is stored. | true
    uses | The drafts that operators can have written. | suggest
    use | What is to be written. | translate
    token_limit | The name of the member of a request that limits its answer. |
    tokens_per_day | Tokens that the workspace may spend on drafts a day (UTC). | 100000
    tokens_per_month | Tokens that the workspace may spend on drafts a month (UTC). | 1000000
    timeout_seconds | Seconds for one answer. | 60
    automatic | On what automatic answers to visitors are based; `off`: there are none. | replies
    automatic_notice | The last lines of each automatic answer. | This is an automatic answer.
    AssistTrial.works | Whether the endpoint has answered. | true
    AssistTrial.problem | The kind of the fault; null: none. |
    AssistTrial.detail | What happened. | The endpoint works: the first text came after 812 ms.
    AssistTrial.answer | The text that came. | I am ready.
    AssistTrial.first_text_milliseconds | Milliseconds until the first text; null: none came. | 812
    AssistTrial.tokens | Tokens of the trial. | 31
    tokens_today | Tokens of drafts today (UTC). | 4120
    tokens_this_month | Tokens of drafts this month (UTC). | 61800
    """#
}
