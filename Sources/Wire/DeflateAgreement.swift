import Primitives

/// The negotiated parameters of permessage-deflate (RFC 7692 §7.1), and their text in a 101.
public struct DeflateAgreement: Equatable, Sendable {
  /// The sender of this direction drops its context after each message (§7.1.1).
  public var serverForgets: Bool
  public var clientForgets: Bool
  /// The window size as a power of two (§7.1.2): 9 to 15 for the server, because zlib deflates with
  /// no smaller window, 8 to 15 for the client.
  public var serverWindowBits: UInt8
  public var clientWindowBits: UInt8
  /// Whether the response names the windows. It must name the server's when the client requested
  /// one, and must not name the client's when the client did not offer it.
  var namesServerWindow = false
  var namesClientWindow = false

  public init(
    serverForgets: Bool = true, clientForgets: Bool = true, serverWindowBits: UInt8 = 15,
    clientWindowBits: UInt8 = 15
  ) {
    self.serverForgets = serverForgets
    self.clientForgets = clientForgets
    self.serverWindowBits = serverWindowBits
    self.clientWindowBits = clientWindowBits
  }

  static let extensionName = "permessage-deflate"

  /// The value of `Sec-WebSocket-Extensions` in the response.
  public var fieldValue: String {
    var text: [UInt8] = []
    appendFieldValue(to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  func appendFieldValue(to text: inout [UInt8]) {
    text.append("permessage-deflate")
    if serverForgets { text.append("; server_no_context_takeover") }
    if clientForgets { text.append("; client_no_context_takeover") }
    if namesServerWindow {
      text.append("; server_max_window_bits=")
      text.append(decimal: Int64(serverWindowBits))
    }
    if namesClientWindow {
      text.append("; client_max_window_bits=")
      text.append(decimal: Int64(clientWindowBits))
    }
  }
}

extension DeflateAgreement {
  /// Parses the server's response on the client's side (RFC 7692 §7.1): one element, with
  /// parameters that a response may have. Nil: the client must fail the connection.
  public init?(answer: String) {
    var list = ExtensionList(answer)
    do throws(ExtensionList.Malformed) {
      // No other extension was offered, so a second element is a fault.
      guard answer.utf8.starts(with: Self.extensionName.utf8), !answer.utf8.contains(0x2C),
        let one = try list.nextDeflateOffer(), one.isValid
      else { return nil }
      guard !one.namesClientWindow || one.clientWindowBits != nil else { return nil }
      self.init(
        serverForgets: one.serverForgets, clientForgets: one.clientForgets,
        serverWindowBits: one.serverWindowBits ?? 15, clientWindowBits: one.clientWindowBits ?? 15)
      namesServerWindow = one.serverWindowBits != nil
      namesClientWindow = one.namesClientWindow
    } catch {
      return nil
    }
  }
}

/// The server's policy for negotiating permessage-deflate.
public struct DeflatePolicy: Equatable, Sendable {
  /// Whether either side may keep its context across messages. Each connection then costs at least
  /// one window.
  public var allowsContext: Bool
  /// The largest window of either side, as a power of two, when context is kept. Without context
  /// all connections share one window, so it has the largest size.
  public var contextWindowBits: UInt8

  public init(allowsContext: Bool = false, contextWindowBits: UInt8 = 15) {
    precondition((9...15).contains(contextWindowBits), "zlib deflates with 9 to 15 bits")
    self.allowsContext = allowsContext
    self.contextWindowBits = contextWindowBits
  }

  /// The agreement on the first acceptable offer, over all fields of the name in the client's order
  /// of preference (RFC 7692 §5.1); nil when no offer is acceptable.
  ///
  /// A list that violates RFC 6455 §9.1 is ignored as a whole, because the meaning of its other
  /// elements is uncertain. A connection without compression always works.
  public func agree(on fields: [String]) -> DeflateAgreement? {
    var agreement: DeflateAgreement?
    for field in fields {
      var list = ExtensionList(field)
      while true {
        do throws(ExtensionList.Malformed) {
          guard let offer = try list.nextDeflateOffer() else { break }
          if agreement == nil { agreement = accept(offer) }
        } catch {
          return nil
        }
      }
    }
    return agreement
  }

  /// RFC 7692 §7.1.1 and §7.1.2, parameter by parameter; nil declines.
  func accept(_ offer: DeflateOffer) -> DeflateAgreement? {
    guard offer.isValid else { return nil }
    // §7.1.1: a response to any offer may contain either parameter. It must contain the server's
    // when the offer does.
    var agreement = DeflateAgreement(
      serverForgets: !allowsContext || offer.serverForgets,
      clientForgets: !allowsContext || offer.clientForgets)
    if let bits = offer.serverWindowBits {
      // zlib cannot deflate with a window of 256 bytes.
      guard bits >= 9 else { return nil }
      agreement.serverWindowBits = bits
      agreement.namesServerWindow = true
    }
    if !agreement.serverForgets {
      // §7.1.2.1: the server may name a window without a request.
      agreement.serverWindowBits = min(agreement.serverWindowBits, contextWindowBits)
      agreement.namesServerWindow = agreement.serverWindowBits < 15 || offer.serverWindowBits != nil
    }
    if let bits = offer.clientWindowBits { agreement.clientWindowBits = bits }
    if !agreement.clientForgets && agreement.clientWindowBits > contextWindowBits {
      if offer.namesClientWindow {
        agreement.clientWindowBits = contextWindowBits
        agreement.namesClientWindow = true
      } else {
        // §7.1.2.2: the server cannot limit the window of a client that does not offer the
        // parameter. It forbids context instead: a connection must stay within the configured cost.
        agreement.clientForgets = true
      }
    }
    return agreement
  }
}

/// One permessage-deflate element of the client's list.
struct DeflateOffer: Equatable {
  var serverForgets = false
  var clientForgets = false
  var serverWindowBits: UInt8?
  var clientWindowBits: UInt8?
  /// `client_max_window_bits` is present, with or without a value.
  var namesClientWindow = false
  /// RFC 7692 §7.1: false after an unknown or repeated parameter, or one whose value is not
  /// allowed. Such an offer is declined.
  var isValid = true

  mutating func take(_ parameter: ExtensionList.Parameter) {
    switch parameter.name {
    case "server_no_context_takeover":
      isValid = isValid && !serverForgets && parameter.value == nil
      serverForgets = true
    case "client_no_context_takeover":
      isValid = isValid && !clientForgets && parameter.value == nil
      clientForgets = true
    case "server_max_window_bits":
      isValid = isValid && serverWindowBits == nil
      serverWindowBits = parameter.windowBits
      isValid = isValid && serverWindowBits != nil
    case "client_max_window_bits":
      isValid = isValid && !namesClientWindow
      namesClientWindow = true
      if parameter.value != nil {
        clientWindowBits = parameter.windowBits
        isValid = isValid && clientWindowBits != nil
      }
    default: isValid = false
    }
  }
}

extension ExtensionList.Parameter {
  /// §7.1.2: a decimal number from 8 to 15 without leading zeros. RFC 6455 §9.1
  /// would also allow quotes, but no client sends them, and an offer may always be declined.
  fileprivate var windowBits: UInt8? {
    guard let value, !isQuoted else { return nil }
    switch value {
    case "8": return 8
    case "9": return 9
    case "10": return 10
    case "11": return 11
    case "12": return 12
    case "13": return 13
    case "14": return 14
    case "15": return 15
    default: return nil
    }
  }
}
