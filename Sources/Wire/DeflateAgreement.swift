import Primitives

/// What both sides have agreed about permessage-deflate (RFC 7692 §7.1), and the text that says it
/// in a 101.
public struct DeflateAgreement: Equatable, Sendable {
  /// The sender of this direction forgets everything after each message (§7.1.1).
  public var serverForgets: Bool
  public var clientForgets: Bool
  /// No distance is longer than this, as a power of two (§7.1.2): 9 to 15 for the server, whose
  /// zlib knows no smaller window, 8 to 15 for the client.
  public var serverWindowBits: UInt8
  public var clientWindowBits: UInt8
  /// Whether the answer names the windows: the server's must be named when the client asked for it,
  /// the client's must not be when it did not.
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

  /// The value of `Sec-WebSocket-Extensions` in the answer.
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
  /// A client's reading of the server's answer (RFC 7692 §7.1): one element, and nothing in it that
  /// an answer cannot say. Nil: the connection must be failed.
  public init?(answer: String) {
    var list = ExtensionList(answer)
    do throws(ExtensionList.Malformed) {
      // Another extension cannot have been offered, and would hide behind or before ours.
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

/// What the server wants of permessage-deflate.
public struct DeflatePolicy: Equatable, Sendable {
  /// Whether either side may refer to earlier messages, which costs a window and more for each
  /// connection.
  public var allowsContext: Bool
  /// The largest window of either side where context is kept. Without context there is one window
  /// for all connections, which may as well be the largest.
  public var contextWindowBits: UInt8

  public init(allowsContext: Bool = false, contextWindowBits: UInt8 = 15) {
    precondition((9...15).contains(contextWindowBits), "zlib deflates with 9 to 15 bits")
    self.allowsContext = allowsContext
    self.contextWindowBits = contextWindowBits
  }

  /// The agreement on the first offer that can be accepted, over all fields of the name and in the
  /// order in which the client prefers them (RFC 7692 §5.1); nil when there is none.
  ///
  /// A list that does not follow RFC 6455 §9.1 counts as no list at all: what its other elements
  /// would mean is not certain. A connection without compression always works.
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
    // §7.1.1: either may be answered to every offer, and the server's must be when it was asked
    // for.
    var agreement = DeflateAgreement(
      serverForgets: !allowsContext || offer.serverForgets,
      clientForgets: !allowsContext || offer.clientForgets)
    if let bits = offer.serverWindowBits {
      // zlib has no window of 256 bytes.
      guard bits >= 9 else { return nil }
      agreement.serverWindowBits = bits
      agreement.namesServerWindow = true
    }
    if !agreement.serverForgets {
      // §7.1.2.1: the server may name a window that nobody asked for.
      agreement.serverWindowBits = min(agreement.serverWindowBits, contextWindowBits)
      agreement.namesServerWindow = agreement.serverWindowBits < 15 || offer.serverWindowBits != nil
    }
    if let bits = offer.clientWindowBits { agreement.clientWindowBits = bits }
    if !agreement.clientForgets && agreement.clientWindowBits > contextWindowBits {
      if offer.namesClientWindow {
        agreement.clientWindowBits = contextWindowBits
        agreement.namesClientWindow = true
      } else {
        // §7.1.2.2: a client that does not offer it cannot be told to take a smaller window, so it
        // is told to forget: a connection must not cost more than what is configured.
        agreement.clientForgets = true
      }
    }
    return agreement
  }
}

/// One element of the client's list, as far as permessage-deflate has a meaning for it.
struct DeflateOffer: Equatable {
  var serverForgets = false
  var clientForgets = false
  var serverWindowBits: UInt8?
  var clientWindowBits: UInt8?
  /// `client_max_window_bits` is there, with a value or without.
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
  /// §7.1.2: a decimal number from 8 to 15 without leading zeros. Between quotes RFC 6455 §9.1
  /// would allow it too, but no client writes it so, and an offer may always be declined.
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
