/// The words for a device in the list of logins, from the User-Agent of its login (RFC 9110
/// §10.1.5). They help people to recognise a login and decide nothing.
import Directory
import Primitives

enum DeviceName {
  /// Each browser's token precedes those of the browsers that it imitates.
  private static let browsers = [
    ("Edg/", "Edge"), ("EdgA/", "Edge"), ("EdgiOS/", "Edge"), ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"), ("Vivaldi/", "Vivaldi"), ("FxiOS/", "Firefox"),
    ("Firefox/", "Firefox"), ("CriOS/", "Chrome"), ("Chrome/", "Chrome"), ("Safari/", "Safari"),
  ]
  private static let systems = [
    ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("CrOS", "ChromeOS"),
    ("Windows", "Windows"), ("Mac OS X", "macOS"), ("Linux", "Linux"),
  ]
  /// Bytes that are searched; browsers send about 120.
  private static let bytesMax = 512
  private static let productBytesMax = 40

  /// `Firefox on Linux`; of other programs the first product, such as `curl`.
  static func words(_ userAgent: String?) -> String {
    let text = String(decoding: (userAgent ?? "").utf8.prefix(bytesMax), as: UTF8.self)
    let browser = browsers.first { text.contains($0.0) }?.1
    let system = systems.first { text.contains($0.0) }?.1
    switch (browser, system) {
    case (let browser?, let system?): return "\(browser) on \(system)"
    case (let words?, nil): return words
    case (nil, let system): return product(text) ?? system ?? "Unknown device"
    }
  }

  /// The name of the first product, if it is a token of ASCII.
  private static func product(_ text: String) -> String? {
    let name = text.utf8.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: " ") }
    guard (1...productBytesMax).contains(name.count), String(name) != "Mozilla",
      name.allSatisfy({ $0.isASCIILetter || $0.isASCIIDigit || $0 == UInt8(ascii: "-") })
    else { return nil }
    return String(name)
  }
}

extension APIRequest {
  /// The device and the address, for the list of logins and the audit log.
  var client: OperatorSession.Client {
    OperatorSession.Client(device: DeviceName.words(header("User-Agent")), address: peer)
  }
}
