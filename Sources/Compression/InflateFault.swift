/// The errors in a peer's deflated data (RFC 1951, RFC 7692 §7.2.2): a closed list.
public enum InflateFault: Error, Equatable, Sendable, CaseIterable {
  /// The output exceeds its limit. Inflating stops there, so the full length is unknown.
  case tooLong
  /// The data ended inside a block.
  case truncated
  /// BTYPE 3 (RFC 1951 §3.2.3).
  case blockTypeInvalid
  /// A distance that points before the start of the window.
  case distanceTooFar
  /// Any other invalid DEFLATE data: code lengths, stored lengths, symbols.
  case corrupt

  /// The fixed text for the close frame and the log.
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
