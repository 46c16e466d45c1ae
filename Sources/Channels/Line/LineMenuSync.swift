/// The published menu as a rich menu of LINE: fetched picture, new rich menu, its picture, default
/// of all people, and the removal of all others of this workspace.
///
/// A rich menu of LINE cannot be changed, and without a picture it cannot be shown. So each attempt
/// makes a new one, and the last one is shown until then. The names tell which ones are ours:
/// whatever an attempt that was killed has left, the next one removes.
import Attachments
import Chat
import HTTPClient
import JSON
import Primitives

struct LineMenuSync: MenuSync {
  /// LINE's limits.
  static let imageBytes = 1_048_576
  static let barUnits = 14
  static let labelUnits = 20
  /// The longest list of an account's rich menus (1,000) that is read.
  static let listBytes = 4_194_304

  private enum State {
    case start
    case fetching, creating
    case uploading(String)
    case choosing(String)
    case listing
    case asking(ours: [String: String])
    case unsetting(then: [String])
    case removing([String])
  }

  private let menu: ChannelMenu?
  private let prefix: String
  private let place: MenuPlace
  private let headers: [String]
  private let milliseconds: Int
  private var state = State.start
  private var image: [UInt8] = []
  private var isPNG = false
  /// The new rich menu; nil: there is none.
  private var made: String?
  /// Why the menu cannot be shown. Then what LINE has is only tidied up.
  private var fault: String?

  init(
    _ menu: ChannelMenu?, in workspace: Identifier, at place: MenuPlace, headers: [String],
    milliseconds: Int
  ) {
    self.menu = menu
    prefix = "chirrup \(workspace) "
    self.place = place
    self.headers = headers
    self.milliseconds = milliseconds
  }

  mutating func next(after outcome: HTTPOutcome?) -> MenuStep {
    if case .start = state { return begin() }
    guard case .answered(let status, let body, let retryAfter)? = outcome else {
      return unanswered(outcome)
    }
    if status >= 500 || [408, 425, 429].contains(status) {
      return .end(.retry(reason: words(status, body), seconds: retryAfter))
    }
    if case .fetching = state { return fetched(status, body) }
    // Nothing can be tidied up without a valid token. Another one makes the menu due again.
    if status == 401 { return .end(.failed(reason: words(status, body), isClean: false)) }
    return answered(status, (200..<300).contains(status), body)
  }

  // MARK: Steps

  private mutating func begin() -> MenuStep {
    guard let menu else { return list() }
    guard !menu.imageURL.isEmpty else {
      return give(up: "The menu has no picture, without which LINE shows no menu.")
    }
    guard !areas(ImageSize(width: 1, height: 1)).isEmpty else {
      return give(up: "The menu has no item that LINE could show.")
    }
    state = .fetching
    // No credential: the address is another server's.
    return .fetch(
      HTTPRequest(
        url: menu.imageURL, headers: ["User-Agent: Chirrup"], body: nil,
        milliseconds: milliseconds, responseBytesMax: LineMenuSync.imageBytes))
  }

  private mutating func unanswered(_ outcome: HTTPOutcome?) -> MenuStep {
    if case .fetching = state {
      switch outcome {
      case .refused: return give(up: "The address of the picture is not allowed.")
      case .failed(HTTPClient.longAnswer(LineMenuSync.imageBytes)):
        return give(up: "The picture has more than 1 MB.")
      case .failed(let reason):
        return .end(.retry(reason: "The picture: \(reason)", seconds: 0))
      default: break
      }
    }
    if case .failed(let reason)? = outcome { return .end(.retry(reason: reason, seconds: 0)) }
    return .end(.retry(reason: "LINE's address is not allowed", seconds: 0))
  }

  private mutating func fetched(_ status: Int, _ body: [UInt8]) -> MenuStep {
    guard (200..<300).contains(status) else {
      return give(up: "The picture's address answered \(status).")
    }
    guard let size = ImageSize(body) else { return give(up: "The picture is no PNG or JPEG.") }
    guard (800...2_500).contains(size.width), size.height >= 250,
      Double(size.width) / Double(size.height) >= 1.45
    else {
      return give(
        up: "The picture has \(size.width) × \(size.height) pixels. LINE takes a width of 800 to "
          + "2,500, a height of at least 250, and a width of at least 1.45 times the height.")
    }
    image = body
    isPNG = body.first == 0x89
    state = .creating
    return .request(post("/v2/bot/richmenu", richMenu(size).text))
  }

  private mutating func answered(_ status: Int, _ isGood: Bool, _ body: [UInt8]) -> MenuStep {
    switch state {
    case .start, .fetching: break
    case .creating:
      guard isGood, let id = JSONValue(body)?["richMenuId"]?.string, isID(id) else {
        return give(up: words(status, body))
      }
      state = .uploading(id)
      return .request(upload(to: id))
    case .uploading(let id):
      image = []
      guard isGood else { return give(up: words(status, body)) }
      state = .choosing(id)
      return .request(post("/v2/bot/user/all/richmenu/\(id)", nil))
    case .choosing(let id):
      guard isGood else { return give(up: words(status, body)) }
      made = id
      return list()
    case .listing:
      guard isGood, let ours = listed(body) else { return .end(tidyFault(status, body)) }
      if made != nil { return remove(ours.keys.filter { $0 != made }.sorted()) }
      if ours.isEmpty { return end() }
      state = .asking(ours: ours)
      return .request(request(.get, "/v2/bot/user/all/richmenu"))
    case .asking(let ours):
      guard isGood || status == 404 else { return .end(tidyFault(status, body)) }
      return asked(ours, shown: isGood ? JSONValue(body)?["richMenuId"]?.string : nil)
    case .unsetting(let then):
      guard isGood || status == 404 else { return .end(tidyFault(status, body)) }
      return remove(then)
    case .removing(let rest):
      guard isGood || status == 404 else { return .end(tidyFault(status, body)) }
      return remove(Array(rest.dropFirst()))
    }
    return .end(.retry(reason: "LINE's answer came at the wrong time", seconds: 0))
  }

  /// What LINE shows of ours stays only if it is an earlier version of the menu that it refuses.
  private mutating func asked(_ ours: [String: String], shown: String?) -> MenuStep {
    guard let shown, let name = ours[shown] else { return remove(ours.keys.sorted()) }
    if let menu, name == self.name(of: menu) {
      return remove(ours.keys.filter { $0 != shown }.sorted())
    }
    state = .unsetting(then: ours.keys.sorted())
    return .request(request(.delete, "/v2/bot/user/all/richmenu"))
  }

  private mutating func give(up reason: String) -> MenuStep {
    fault = reason
    image = []
    return list()
  }

  private mutating func list() -> MenuStep {
    state = .listing
    var request = request(.get, "/v2/bot/richmenu/list")
    request.responseBytesMax = LineMenuSync.listBytes
    return .request(request)
  }

  private mutating func remove(_ ids: [String]) -> MenuStep {
    guard let id = ids.first else { return end() }
    state = .removing(ids)
    return .request(request(.delete, "/v2/bot/richmenu/\(id)"))
  }

  private func end() -> MenuStep {
    .end(fault.map { .failed(reason: $0, isClean: true) } ?? .done)
  }

  /// The menu may be shown, but others of ours are left: another attempt is needed.
  private func tidyFault(_ status: Int, _ body: [UInt8]) -> MenuEnd {
    if let fault { return .failed(reason: fault, isClean: false) }
    return .retry(reason: words(status, body), seconds: 0)
  }

  private func words(_ status: Int, _ body: [UInt8]) -> String {
    if case .fetching = state { return "The picture's address answered \(status)" }
    return LineChannel().reason(status, body)
  }

  // MARK: Requests

  private func request(_ method: HTTPMethod, _ path: String) -> HTTPRequest {
    var request = HTTPRequest(
      url: place.api + path, headers: headers, body: nil, milliseconds: milliseconds,
      responseBytesMax: LineChannel.answerBytes)
    request.method = method
    return request
  }

  private func post(_ path: String, _ body: [UInt8]?) -> HTTPRequest {
    var request = request(.post, path)
    request.body = body ?? []
    if body != nil { request.headers.append("Content-Type: application/json") }
    return request
  }

  private func upload(to id: String) -> HTTPRequest {
    var request = post("/v2/bot/richmenu/\(id)/content", image)
    request.url = place.data + "/v2/bot/richmenu/\(id)/content"
    request.headers.removeLast()
    request.headers.append("Content-Type: image/\(isPNG ? "png" : "jpeg")")
    return request
  }

  // MARK: Content

  private func name(of menu: ChannelMenu) -> String { prefix + "\(menu.id)" }

  private func richMenu(_ size: ImageSize) -> JSONValue {
    guard let menu else { return .null }
    return .object([
      "size": .object(["width": .number("\(size.width)"), "height": .number("\(size.height)")]),
      "selected": .bool(false), "name": .string(name(of: menu)),
      "chatBarText": .string(cut(menu.name, units: LineMenuSync.barUnits)),
      "areas": .array(areas(size)),
    ])
  }

  /// The items in rows of up to three, as even as possible, the longer rows first.
  private func areas(_ size: ImageSize) -> [JSONValue] {
    let actions = (menu.flatMap { JSONValue($0.actions)?.array } ?? []).compactMap(action)
    let rows = (actions.count + 2) / 3
    var (areas, next) = ([JSONValue](), 0)
    for row in 0..<rows {
      let left = rows - row
      let count = (actions.count - next + left - 1) / left
      let (top, bottom) = (size.height * row / rows, size.height * (row + 1) / rows)
      for column in 0..<count {
        let (begin, end) = (size.width * column / count, size.width * (column + 1) / count)
        areas.append(
          .object([
            "bounds": .object([
              "x": .number("\(begin)"), "y": .number("\(top)"),
              "width": .number("\(end - begin)"), "height": .number("\(bottom - top)"),
            ]), "action": actions[next],
          ]))
        next += 1
      }
    }
    return areas
  }

  /// A tap says what it says in the widget: the item's value, else its label.
  private func action(_ item: JSONValue) -> JSONValue? {
    guard let label = item["label"]?.string, !label.isEmpty else { return nil }
    let value = item["value"]?.string ?? ""
    if item["type"]?.string == "url" {
      return LineMessages.action(item, labelUnits: LineMenuSync.labelUnits)
    }
    let said = item["type"]?.string == "message" && !value.isEmpty ? value : label
    let data = JSONValue.object(["v": .string(said), "l": .string(said)]).text
    let text = String(decoding: data, as: UTF8.self)
    let shown = JSONValue.string(cut(label, units: LineMenuSync.labelUnits))
    let words = JSONValue.string(cut(said, units: LineMessages.dataUnits))
    guard text.utf16.count <= LineMessages.dataUnits else {
      return .object(["type": .string("message"), "label": shown, "text": words])
    }
    return .object([
      "type": .string("postback"), "label": shown, "data": .string(text), "displayText": words,
    ])
  }

  // MARK: Answers

  /// The ids of the rich menus that are ours, with their names.
  private func listed(_ body: [UInt8]) -> [String: String]? {
    guard let menus = JSONValue(body)?["richmenus"]?.array else { return nil }
    var ours: [String: String] = [:]
    for menu in menus {
      guard let id = menu["richMenuId"]?.string, isID(id), let name = menu["name"]?.string,
        name.hasPrefix(prefix)
      else { continue }
      ours[id] = name
    }
    return ours
  }

  /// It becomes a part of a URL.
  private func isID(_ id: String) -> Bool {
    (1...LineChannel.idCharacters).contains(id.utf8.count)
      && id.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "_-".utf8.contains($0) }
  }
}
