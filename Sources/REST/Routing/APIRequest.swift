/// A request and its answer as values: the API knows no sockets, and the gateway no routes.
public import Primitives

public struct APIRequest: Sendable {
  /// As in the request line: `GET`, `POST`, …
  public var method: String
  /// The path as it came, without the query.
  public var path: String
  /// What follows the `?`, as it came; empty when there is none.
  public var query: String
  public var headers: [(name: String, value: String)]
  public var body: [UInt8]
  /// The peer's address, as rates are counted: for IPv6 its /64 prefix is enough.
  public var peer: String
  public var now: WallTime
  /// Whether the client spoke TLS, to us or to the proxy we trust.
  public var isSecure: Bool
  /// The peer stands for many (a proxy, this machine): the widget's rates do not concern it.
  public var isExempt: Bool

  public init(
    method: String, path: String, query: String = "",
    headers: [(name: String, value: String)] = [], body: [UInt8] = [], peer: String,
    now: WallTime, isSecure: Bool = false, isExempt: Bool = false
  ) {
    self.method = method
    self.path = path
    self.query = query
    self.headers = headers
    self.body = body
    self.peer = peer
    self.now = now
    self.isSecure = isSecure
    self.isExempt = isExempt
  }

  /// The value of the first header of this name, in any case (RFC 9110 §5.1).
  func header(_ name: String) -> String? {
    headers.first { $0.name.equalsIgnoringASCIICase(name) }?.value
  }
}

public struct APIResponse: Sendable {
  public var status: Int
  public var headers: [(name: String, value: String)]
  public var body: [UInt8]
  /// The body without what is shown only once, for a repetition; nil: there is nothing of the kind.
  var repeatable: [UInt8]?

  public init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  static func json(_ body: [UInt8], status: Int = 200) -> APIResponse {
    APIResponse(status: status, headers: [("Content-Type", "application/json")], body: body)
  }

  func addingCookies(_ cookies: [String]) -> APIResponse {
    cookies.reduce(self) { $0.adding("Set-Cookie", $1) }
  }

  func adding(_ name: String, _ value: String) -> APIResponse {
    var response = self
    response.headers.append((name, value))
    return response
  }
}
