/// Messages and KiB that a loop may count, or has counted, of one sender.
struct QuotaAllowance: Sendable, Equatable {
  var messages: Int64
  var kibibytes: Int64

  static var none: QuotaAllowance { QuotaAllowance(messages: 0, kibibytes: 0) }
  /// The smallest message.
  static var oneMessage: QuotaAllowance { QuotaAllowance(messages: 1, kibibytes: 1) }
  /// Held where there is no limit; never used up.
  static var unlimited: Int64 { .max / 4 }
  static var endless: QuotaAllowance {
    QuotaAllowance(messages: unlimited, kibibytes: unlimited)
  }

  func covers(_ need: QuotaAllowance) -> Bool {
    messages >= need.messages && kibibytes >= need.kibibytes
  }

  func limited(to most: QuotaAllowance) -> QuotaAllowance {
    QuotaAllowance(
      messages: min(messages, most.messages), kibibytes: min(kibibytes, most.kibibytes))
  }

  /// More than the whole limit is counted as the limit.
  func limited(by limits: QuotaTable.Limits) -> QuotaAllowance {
    limited(
      to: QuotaAllowance(
        messages: limits.messages.amount == 0 ? .max : limits.messages.amount,
        kibibytes: limits.kibibytes.amount == 0 ? .max : limits.kibibytes.amount))
  }

  static func += (sum: inout QuotaAllowance, part: QuotaAllowance) {
    sum.messages += part.messages
    sum.kibibytes += part.kibibytes
  }

  static func -= (rest: inout QuotaAllowance, part: QuotaAllowance) {
    rest.messages -= part.messages
    rest.kibibytes -= part.kibibytes
  }
}
