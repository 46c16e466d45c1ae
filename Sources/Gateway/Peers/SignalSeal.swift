import Chat
import Engine
import JSON
import OpenSSL
import Primitives

/// Typing and presence as payloads of NOTIFY: the gateway's id, then `e` and JSON encrypted with a
/// key that only gateways have. Every login of the database may listen and notify, and must neither
/// read what a visitor types nor make it up.
struct SignalSeal {
  /// A payload has less than 8,000 bytes; base64 makes four of three.
  static let plainBytesMax = 5_800
  /// Payloads of one notification; what exceeds them is dropped.
  static let payloadsMax = 16

  private let key: [UInt8]

  init(signingSecret: [UInt8]) {
    key = HMACSHA256.code(for: Array("chirrup peers".utf8), key: signingSecret)
  }

  func payloads(_ signals: [PeerSignal], as gateway: Identifier) -> [String] {
    var payloads: [String] = []
    var plain: [UInt8] = []
    func close() {
      guard !plain.isEmpty, payloads.count < SignalSeal.payloadsMax else { return }
      let text = [UInt8(ascii: "[")] + plain + [UInt8(ascii: "]")]
      payloads.append("\(gateway) e" + sealed(text, context: SignalSeal.context(gateway)))
      plain = []
    }
    for signal in signals {
      guard let item = SignalSeal.fitting(signal) else { continue }
      if plain.count + item.count + 3 > SignalSeal.plainBytesMax { close() }
      if !plain.isEmpty { plain.append(UInt8(ascii: ",")) }
      plain += item
    }
    close()
    return payloads
  }

  /// The signals of a word after its `e`; none if this database's gateways have not made it.
  func signals(in sealed: String, from gateway: Identifier) -> [PeerSignal] {
    guard let text = opened(sealed, context: SignalSeal.context(gateway)),
      let items = JSONValue(text)?.array
    else { return [] }
    return items.compactMap { PeerSignal($0) }
  }

  func sealed(_ text: [UInt8], context: [UInt8]) -> String {
    Base64.url.encode(AES256GCM.seal(text, key: key, context: context))
  }

  func opened(_ sealed: String, context: [UInt8]) -> [UInt8]? {
    Base64.url.decode(sealed.utf8).flatMap { AES256GCM.open($0, key: key, context: context) }
  }

  private static func context(_ gateway: Identifier) -> [UInt8] { Array("peer:\(gateway)".utf8) }

  /// The JSON of a signal, without the preview or some viewers if it were too long for a payload.
  private static func fitting(_ signal: PeerSignal) -> [UInt8]? {
    let whole = signal.json
    if whole.count + 2 <= plainBytesMax { return whole }
    switch signal {
    case .typing(var typing):
      typing.preview = []
      let short = PeerSignal.typing(typing).json
      return short.count + 2 <= plainBytesMax ? short : nil
    case .presence(var presence):
      guard !presence.viewers.isEmpty else { return nil }
      presence.viewers.removeLast((presence.viewers.count + 1) / 2)
      return fitting(.presence(presence))
    case .presenceQuery: return nil
    }
  }
}

extension PeerSignal {
  var json: [UInt8] {
    [UInt8].object {
      $0.appendMember("session", session)
      switch self {
      case .typing(let typing):
        $0.appendMember("types", typing.isActive)
        $0.appendMember("role", Int64(typing.person.role.rawValue))
        $0.appendMember("id", typing.person.id)
        $0.appendMember("name", utf8: typing.person.name)
        // JSONValue takes no U+0000.
        $0.appendMember("preview", utf8: typing.preview.contains(0) ? [] : typing.preview)
      case .presence(let presence):
        $0.appendMember("visitor", presence.hasVisitor)
        $0.appendKey("viewers")
        $0.append(UInt8(ascii: "["))
        for viewer in presence.viewers {
          $0.appendComma()
          $0 += [UInt8].object {
            $0.appendMember("id", viewer.id)
            $0.appendMember("name", utf8: viewer.name)
          }
        }
        $0.append(UInt8(ascii: "]"))
      case .presenceQuery: break
      }
    }
  }

  init?(_ json: JSONValue) {
    guard let session = json["session"]?.string.flatMap({ Identifier($0) }) else { return nil }
    if let isActive = json["types"]?.bool {
      guard let number = json["role"]?.int.flatMap({ UInt8(exactly: $0) }),
        let role = Role(rawValue: number),
        let person = Person(json, role: role), let preview = json["preview"]?.string
      else { return nil }
      self = .typing(
        PeerTyping(
          session: session, person: person, isActive: isActive,
          preview: Array(preview.utf8.prefix(Limits.previewBytes))))
    } else if let hasVisitor = json["visitor"]?.bool {
      let viewers = (json["viewers"]?.array ?? []).prefix(Limits.viewers)
      self = .presence(
        PeerPresence(
          session: session, hasVisitor: hasVisitor,
          viewers: viewers.compactMap { Person($0, role: .operator_) }))
    } else {
      self = .presenceQuery(session: session)
    }
  }
}

extension Person {
  fileprivate init?(_ json: JSONValue, role: Role) {
    guard let id = json["id"]?.string.flatMap({ Identifier($0) }), let name = json["name"]?.string
    else { return nil }
    self.init(role: role, id: id, name: Array(name.utf8))
  }
}
