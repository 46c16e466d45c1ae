import REST

/// The requests to endpoints of Assist.
extension PrometheusText {
  mutating func assist(_ assist: AssistMetrics) {
    family(
      "assist_runs_total", "counter",
      "Requests to endpoints of Assist, by what was requested and how it ended.",
      AssistMetrics.Kind.allCases.flatMap { kind in
        AssistMetrics.outcomes.map { outcome in
          (
            #"{kind="\#(kind.rawValue)",outcome="\#(outcome)"}"#,
            assist.runs(of: kind, outcome)
          )
        }
      })
    family(
      "assist_tokens_total", "counter",
      "Tokens of these requests, estimated if the endpoint does not count.",
      AssistMetrics.Kind.allCases.map { kind in
        (#"{kind="\#(kind.rawValue)"}"#, assist.tokens(of: kind))
      })
    histogram(
      "assist_first_text_seconds", "From a request until the first text of its answer.",
      [("", assist.firstTexts)])
  }
}
