/// A beacon of a page: which browser, which tab, and with a navigation the visit so far.
import Directory
import JSON
import OpenSSL
import Primitives

enum BeaconLimits {
  /// Bytes of a beacon. Browsers send at most 64 KiB of them at once (Fetch §4.5).
  static let bytes = 8_192
  static let secretBytes = 20...64
  static let tabBytes = 16
  static let trail = 20
  /// Bytes of an address, a title, a referrer or a campaign; longer texts are cut.
  static let textBytes = 300
  /// Of the code of a country (ISO 3166-1).
  static let countryBytes = 2
  static let visitsMax: Int64 = 1_000_000
  /// A visit began at most so long ago.
  static let secondsMax: Int64 = 7 * 86_400
  static let headerBytes = 256
}

extension Identifier {
  /// The id of the browser with this secret, of version 8 (RFC 9562 §5.8). It does not reveal the
  /// secret.
  init(watcherWithHash hash: [UInt8]) {
    let (high, low) = hash.withRawSpan { ($0.uint64(at: 0), $0.uint64(at: 8)) }
    self.init(
      high: high & ~0xF000 | 0x8000, low: low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000)
  }
}

extension JSONObject {
  /// The secret of a browser; nil if the member is missing.
  func watcherSecret(_ name: String) throws(Problem) -> String? {
    guard let secret = try string(name, bytesMax: BeaconLimits.secretBytes.upperBound) else {
      return nil
    }
    guard secret.utf8.count >= BeaconLimits.secretBytes.lowerBound else {
      throw .invalidMember(
        name, in: self, "a random text of at least \(BeaconLimits.secretBytes.lowerBound) bytes")
    }
    return secret
  }

  func beacon(
    of workspace: Identifier, _ request: APIRequest
  ) throws(Problem) -> WatchTable.Beacon {
    guard let secret = try watcherSecret("secret") else { throw .missing("secret") }
    let hash = secretHash(secret)
    let state: WatchTable.TabState =
      switch try word("state", of: ["here", "away", "gone"]) {
      case "away": .away
      case "gone": .gone
      default: .here
      }
    return WatchTable.Beacon(
      key: WatchTable.Key(workspace: workspace, watcher: Identifier(watcherWithHash: hash)),
      secretHash: hash,
      tab: try requiredString("tab", bytesMax: BeaconLimits.tabBytes), state: state,
      visit: try nested("visit").map { (visit) throws(Problem) in
        try BeaconVisit(visit, request).json
      })
  }
}

/// The visit of a beacon as it is stored. Ages become times by the gateway's clock: that of a
/// visitor may be wrong.
struct BeaconVisit {
  let json: [UInt8]

  init(_ visit: JSONObject, _ request: APIRequest) throws(Problem) {
    let trail = try visit.objects("trail", countMax: BeaconLimits.trail)
    guard let last = trail.last else { throw .missing("trail", in: visit) }
    let began = try visit.age("age", request.now)
    let pages = try visit.int("pages", in: 1...BeaconLimits.visitsMax) ?? Int64(trail.count)
    let visits = try visit.int("visits", in: 1...BeaconLimits.visitsMax) ?? 1
    let steps = try trail.map { (step) throws(Problem) in
      (
        page: try step.shortText("page"), title: try step.shortText("title"),
        at: try step.age("age", request.now)
      )
    }
    let lastAt = try last.age("age", request.now)
    let referrer = try visit.shortText("referrer")
    let campaign = try visit.shortText("campaign")
    let language = request.header("Accept-Language") ?? ""
    let country = request.country ?? BeaconVisit.region(language)
    let agent = cut(request.header("User-Agent") ?? "", bytesMax: BeaconLimits.headerBytes)
    json = .object { json in
      json.appendMember("page", steps.last?.page ?? "")
      json.appendMember("title", steps.last?.title ?? "")
      json.appendMember("page_at", lastAt)
      json.appendMember("began_at", began)
      json.appendMember("pages", pages)
      json.appendMember("visits", visits)
      json.appendMember("referrer", referrer)
      json.appendMember("campaign", campaign)
      json.appendMember("path", BeaconVisit.path(steps.last?.page ?? ""))
      json.appendMember("source", campaign.isEmpty ? BeaconVisit.host(referrer) : campaign)
      if let country { json.appendMember("country", country) }
      json.appendMember("language", String(language.prefix { !",;".contains($0) }.prefix(35)))
      json.appendMember("user_agent", agent)
      json.appendArray("trail", steps) { step, json in
        json += .object {
          $0.appendMember("page", step.page)
          $0.appendMember("title", step.title)
          $0.appendMember("at", step.at)
        }
      }
    }
  }

  /// The path of an address, without its query; the whole text if it is no http(s) address.
  static func path(_ address: String) -> String {
    guard let rest = afterScheme(address) else { return address }
    let path = rest.drop { !"/?#".contains($0) }
    let kept = path.prefix { $0 != "?" }
    return kept.hasPrefix("/") ? String(kept) : "/" + kept
  }

  /// The host of an http(s) address with its port; empty for any other text.
  static func host(_ address: String) -> String {
    guard let authority = afterScheme(address)?.prefix(while: { !"/?#".contains($0) }) else {
      return ""
    }
    return authority.split(separator: "@").last?.lowercased() ?? ""
  }

  private static func afterScheme(_ address: String) -> Substring? {
    for scheme in ["https://", "http://"] where address.lowercased().hasPrefix(scheme) {
      return address.dropFirst(scheme.count)
    }
    return nil
  }

  /// The region of the first language with one (RFC 9110 §12.5.4, RFC 5646 §2.2.4): `CH` for
  /// `de-CH, en;q=0.5`. A guess: it is the browser's setting, not where it is.
  static func region(_ acceptLanguage: String) -> String? {
    for range in acceptLanguage.utf8.prefix(BeaconLimits.headerBytes).split(
      separator: UInt8(ascii: ","))
    {
      let tag = range.prefix { $0 != UInt8(ascii: ";") }.split(separator: UInt8(ascii: "-"))
      for part in tag.dropFirst() {
        let letters = part.filter { $0.isASCIILetter }
        if part.filter({ $0 != UInt8(ascii: " ") }).count == 2, letters.count == 2 {
          return String(decoding: letters, as: UTF8.self).uppercased()
        }
      }
    }
    return nil
  }
}

extension JSONObject {
  /// Without controls, of text and of its direction (UAX #9 §2): a page must not make its line in
  /// the operators' list read as another address.
  func shortText(_ name: String) throws(Problem) -> String {
    let text = try string(name, bytesMax: BeaconLimits.bytes) ?? ""
    return cut(text.withoutControls, bytesMax: BeaconLimits.textBytes)
  }

  /// The time before the seconds of a member; now if it is missing.
  fileprivate func age(_ name: String, _ now: WallTime) throws(Problem) -> WallTime {
    now.advanced(bySeconds: -(try int(name, in: 0...BeaconLimits.secondsMax) ?? 0))
  }
}

extension String {
  fileprivate var withoutControls: String {
    let isPlain = utf8.allSatisfy { !$0.isASCIIControl && $0 < 0x80 }
    guard !isPlain else { return self }
    return String(
      String.UnicodeScalarView(
        unicodeScalars.filter {
          $0.properties.generalCategory != .control && !$0.properties.isBidiControl
        }))
  }
}

extension APIRequest {
  /// The browser says that its user wants neither tracking (Tracking Preference Expression §5.2)
  /// nor the sale of data (Global Privacy Control §3.2). The widget then sends nothing; this holds
  /// for other clients.
  var objectsToWatching: Bool { header("Sec-GPC") == "1" || header("DNT") == "1" }

  /// The visitor's country, as the trusted proxy has sent it in the header that the gateway's
  /// setting `country_header` names.
  var country: String? {
    guard let text = trustedCountry, text.utf8.count == BeaconLimits.countryBytes,
      text.utf8.allSatisfy({ $0.isASCIILetter })
    else { return nil }
    let code = text.uppercased()
    // Of Cloudflare and others: unknown.
    return code == "XX" ? nil : code
  }
}
