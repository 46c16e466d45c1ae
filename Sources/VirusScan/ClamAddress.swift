/// Where clamd listens: a Unix socket (`unix:/run/clamav/clamd.ctl`) or TCP (`tcp:127.0.0.1:3310`).
import Primitives

public enum ClamAddress: Equatable, Sendable, CustomStringConvertible {
  case path(String)
  case host(String, port: UInt16)

  /// clamd's own port.
  static let port: UInt16 = 3310

  /// Nil for another form.
  public init?(_ text: String) {
    if text.hasPrefix("unix:/") {
      self = .path(String(text.dropFirst(5)))
      return
    }
    guard text.hasPrefix("tcp:"), let place = HostAndPort(text.dropFirst(4)),
      !place.host.isEmpty, place.portText == nil || place.port != nil
    else { return nil }
    self = .host(String(place.host), port: place.port ?? ClamAddress.port)
  }

  public var description: String {
    switch self {
    case .path(let path): "unix:\(path)"
    case .host(let host, let port):
      host.contains(":") ? "tcp:[\(host)]:\(port)" : "tcp:\(host):\(port)"
    }
  }
}
