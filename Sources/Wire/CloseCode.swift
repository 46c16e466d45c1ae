/// The close codes of RFC 6455 §7.4.1, of its registry, and of Chirrup. The hundreds of Chirrup's
/// codes define the client's next step (4000 reconnect, 4100 back off, 4200 new token, 4300 stop).
public struct CloseCode: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt16

  public init(rawValue: UInt16) { self.rawValue = rawValue }

  private init(_ rawValue: UInt16) { self.rawValue = rawValue }

  /// Whether a peer may send it: 1004, 1005, 1006 and 1015 are never sent (RFC 6455 §7.4.1), 1016
  /// to 2999 are reserved, and below 1000 or above 4999 nothing is defined (§7.4.2).
  public var isReceivable: Bool {
    switch rawValue {
    case 1000...1003, 1007...1014, 3000...4999: true
    default: false
    }
  }

  /// Whether the code reports an error of its receiver: not a normal end, not a restart.
  public var isFault: Bool {
    switch rawValue {
    case 1000, 1001, 1005, 1012, 4000...4099: false
    default: true
    }
  }

  // RFC 6455 §7.4.1 and the IANA registry.
  public static let normal = CloseCode(1000)
  public static let goingAway = CloseCode(1001)
  public static let protocolError = CloseCode(1002)
  public static let unsupportedData = CloseCode(1003)
  /// Never sent: stands for a close frame without a code.
  public static let noStatus = CloseCode(1005)
  /// Never sent: stands for a connection that ended without a close frame.
  public static let abnormal = CloseCode(1006)
  public static let invalidPayload = CloseCode(1007)
  public static let policyViolation = CloseCode(1008)
  public static let messageTooBig = CloseCode(1009)
  public static let mandatoryExtension = CloseCode(1010)
  public static let internalError = CloseCode(1011)
  public static let serviceRestart = CloseCode(1012)
  public static let tryAgainLater = CloseCode(1013)
  public static let badGateway = CloseCode(1014)

  // Reconnect at a random moment of the window, backoff unchanged.
  public static let drain = CloseCode(4000)
  public static let rebalance = CloseCode(4001)
  public static let administrator = CloseCode(4003)

  // Reconnect with exponential backoff.
  public static let tooSlow = CloseCode(4101)
  public static let noPong = CloseCode(4102)
  public static let rateAbuse = CloseCode(4103)
  public static let overloaded = CloseCode(4104)
  /// Sent by a client that detected a gap in the sequence numbers of a session.
  public static let holeSeen = CloseCode(4190)

  // Get a new token, then reconnect.
  public static let helloTimeout = CloseCode(4201)
  public static let tokenExpired = CloseCode(4202)
  public static let tokenInvalid = CloseCode(4203)
  public static let tokenRevoked = CloseCode(4204)

  // Stop and show the reason.
  public static let versionRefused = CloseCode(4301)
  public static let banned = CloseCode(4302)
  public static let originRefused = CloseCode(4303)
  public static let disabled = CloseCode(4304)
  public static let passwordChangeRequired = CloseCode(4305)
}

extension CloseCode: CustomStringConvertible {
  public var description: String { String(rawValue) }
}
