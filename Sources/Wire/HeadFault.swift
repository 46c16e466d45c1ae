/// The errors in the head of an HTTP/1.1 message (RFC 9112), each with its response status. Every
/// one closes the connection, because the start of the next message is no longer certain.
public enum HeadFault: Error, Equatable, Sendable, CaseIterable {
  case headTooLong
  case targetTooLong
  case tooManyFields
  case tooManyParameters
  /// CR without LF, LF without CR, NUL or another control character.
  case controlCharacter
  case requestLineInvalid
  case statusLineInvalid
  case targetInvalid
  case escapeInvalid
  case versionInvalid
  case versionUnsupported
  case fieldInvalid
  case fieldFolded
  case hostInvalid
  case contentLengthInvalid
  case transferCodingInvalid
  case transferCodingUnsupported
  case expectationUnknown

  public var status: Int {
    switch self {
    case .targetTooLong: 414
    case .expectationUnknown: 417
    case .headTooLong, .tooManyFields: 431
    case .transferCodingUnsupported: 501
    case .versionUnsupported: 505
    default: 400
    }
  }

  public var reason: StaticString {
    switch self {
    case .headTooLong: "head too long"
    case .targetTooLong: "target too long"
    case .tooManyFields: "too many fields"
    case .tooManyParameters: "too many query parameters"
    case .controlCharacter: "control character in the head"
    case .requestLineInvalid: "malformed request line"
    case .statusLineInvalid: "malformed status line"
    case .targetInvalid: "malformed target"
    case .escapeInvalid: "malformed percent escape"
    case .versionInvalid: "malformed version"
    case .versionUnsupported: "version not supported"
    case .fieldInvalid: "malformed field"
    case .fieldFolded: "folded field"
    case .hostInvalid: "missing, repeated or malformed host"
    case .contentLengthInvalid: "malformed or repeated content length"
    case .transferCodingInvalid: "malformed or conflicting transfer coding"
    case .transferCodingUnsupported: "transfer coding not supported"
    case .expectationUnknown: "unknown expectation"
    }
  }
}
