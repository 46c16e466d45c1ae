/// What a peer can do wrong with deflated data (RFC 1951, RFC 7692 §7.2.2): a closed list.
public enum InflateFault: Error, Equatable, Sendable, CaseIterable {
  /// The output passed its limit. How much more there would be is not known and does not matter.
  case tooLong
  /// The data ended inside a block.
  case truncated
  /// BTYPE 3 (RFC 1951 §3.2.3).
  case blockTypeInvalid
  /// A distance that reaches behind the start of the window.
  case distanceTooFar
  /// Anything else that is no DEFLATE: code lengths, stored lengths, symbols.
  case corrupt

  /// For the close frame and the log: fixed texts.
  public var reason: StaticString {
    switch self {
    case .tooLong: "inflated message too big"
    case .truncated: "deflated data cut short"
    case .blockTypeInvalid: "deflate block of a reserved type"
    case .distanceTooFar: "deflate distance too far back"
    case .corrupt: "deflated data corrupt"
    }
  }
}
