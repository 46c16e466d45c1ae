/// The result of one check of `chirrup doctor`.
struct Diagnosis: Sendable, Equatable {
  enum State: String, Sendable {
    case ok, warning, failure
    /// The check needs something that another check has found missing, or that does not apply here.
    case skipped
  }

  var state: State
  /// The finding, in one line.
  var found: String
  /// The remedy, in one line; nil: that of the check.
  var remedy: String?

  static func ok(_ found: String) -> Diagnosis { Diagnosis(state: .ok, found: found) }

  static func warning(_ found: String, mend remedy: String? = nil) -> Diagnosis {
    Diagnosis(state: .warning, found: found, remedy: remedy)
  }

  static func failure(_ found: String, mend remedy: String? = nil) -> Diagnosis {
    Diagnosis(state: .failure, found: found, remedy: remedy)
  }

  static func skipped(_ reason: String) -> Diagnosis {
    Diagnosis(state: .skipped, found: reason)
  }
}
