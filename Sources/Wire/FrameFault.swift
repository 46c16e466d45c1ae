/// The frame errors of a peer: a closed list, each with its close code.
public enum FrameFault: Error, Equatable, Sendable, CaseIterable {
  case reservedBits
  case reservedOpcode
  case controlFragmented
  case controlTooLong
  case unmasked
  case masked
  case lengthNotMinimal
  case lengthOutOfRange
  case messageTooBig
  case tooManyFragments
  case continuationWithoutStart
  case messageInterrupted
  case closePayloadOfOneByte
  case closeCodeForbidden
  case closeReasonInvalid
  case textInvalid

  public var closeCode: CloseCode {
    switch self {
    case .messageTooBig, .tooManyFragments: .messageTooBig
    case .closeReasonInvalid, .textInvalid: .invalidPayload
    default: .protocolError
    }
  }

  /// The text for the close frame and the log. It is fixed, so it repeats no data of the peer.
  public var reason: StaticString {
    switch self {
    case .reservedBits: "reserved bits set"
    case .reservedOpcode: "reserved opcode"
    case .controlFragmented: "fragmented control frame"
    case .controlTooLong: "control frame too long"
    case .unmasked: "frame not masked"
    case .masked: "frame masked"
    case .lengthNotMinimal: "length not minimal"
    case .lengthOutOfRange: "length out of range"
    case .messageTooBig: "message too big"
    case .tooManyFragments: "too many fragments"
    case .continuationWithoutStart: "continuation without a start"
    case .messageInterrupted: "message interrupted by another"
    case .closePayloadOfOneByte: "close payload of one byte"
    case .closeCodeForbidden: "close code forbidden"
    case .closeReasonInvalid: "close reason is not UTF-8"
    case .textInvalid: "text is not UTF-8"
    }
  }
}
