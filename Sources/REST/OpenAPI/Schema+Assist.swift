import Assist

/// Schemas of the endpoint that writes drafts, and of the drafts.
extension Schema {
  private static let assistUse = word(AssistUse.allCases.map(\.rawValue))
  private static let grounds = word(AssistSettingsRoutes.grounds)
  private static let tokenLimit = word(CompletionRequest.TokenLimit.allCases.map(\.rawValue))

  static let assist = object([
    "tokens_today": count, "tokens_this_month": count,
    "assist": object([
      "enabled": bool, "uses": array(of: assistUse), "endpoint": text, "model": text,
      "has_key": bool, "token_limit": tokenLimit, "tokens_per_day": count,
      "tokens_per_month": count, "timeout_seconds": count, "automatic": grounds,
      "automatic_notice": text,
    ]).orNull.described("Null: nothing is set, and nothing is sent."),
  ]).named("Assist")

  static let assistChange = input(
    [
      "endpoint": string(
        1...AssistEndpoint.bytesMax, pattern: #"^https?://[!->@-~]+$"#, format: "endpoint"
      ).described(
        "The base address of an OpenAI-compatible API. http:// only if the gateway's "
          + "administrator allows private networks, and for such an address."),
      "model": string(1...APILimits.modelBytes, pattern: "^[ -~]+$"),
    ],
    optional: [
      "api_key": string(0...APILimits.endpointKeyBytes, pattern: "^[!-~]*$").described(
        "Missing, null or empty: the stored one stays if it belongs to the same endpoint. Never "
          + "returned."),
      "enabled": bool,
      "uses": array(of: assistUse, 0...AssistUse.allCases.count),
      "token_limit": tokenLimit,
      "tokens_per_day": int(AssistSettingsRoutes.tokensRange),
      "tokens_per_month": int(AssistSettingsRoutes.tokensRange),
      "timeout_seconds": int(AssistSettingsRoutes.timeoutRange),
      "automatic": grounds,
      "automatic_notice": string(1...AssistSettingsRoutes.noticeBytesMax),
    ]
  ).named("AssistChange")

  static let assistTrial = object([
    "works": bool,
    "problem": word(CompletionFault.Name.allCases.map(\.rawValue)).orNull, "detail": text,
    "answer": text, "first_text_milliseconds": count.orNull, "tokens": count,
  ]).named("AssistTrial")

  static let assistUses = object(["uses": array(of: assistUse)]).named("AssistUses")

  static let newDraft = input(
    ["use": assistUse],
    optional: [
      "language": string(2...APILimits.languageBytes, format: "language").described(
        "A language tag (BCP 47). Required for a translation; of a summary it is the language."),
      "text": string(0...AssistPrompt.textBytesMax).described(
        "The text to be translated; only for a translation, which requires it."),
    ]
  ).named("NewDraft")
}
