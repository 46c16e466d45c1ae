/// A request and its response as values: REST has no sockets, and the gateway has no routes.
import JSON
public import Primitives

public struct APIRequest: Sendable {
  /// As in the request line: `GET`, `POST`, …
  public var method: String
  /// The path as received, without the query.
  public var path: String
  /// The text after `?`, as received; empty if there is none.
  public var query: String
  public var headers: [(name: String, value: String)]
  public var body: [UInt8]
  /// The client's address as rate limits count it: of IPv6 addresses the /64 prefix.
  public var peer: String
  public var now: WallTime
  /// Whether the client used TLS, to the gateway or to a trusted proxy.
  public var isSecure: Bool
  /// The address stands for many clients (a proxy, this machine), so the widget's rate limits do
  /// not apply.
  public var isExempt: Bool
  /// The visitor's country, as a trusted proxy has sent it; nil: none has.
  public var trustedCountry: String?

  public init(
    method: String, path: String, query: String = "",
    headers: [(name: String, value: String)] = [], body: [UInt8] = [], peer: String,
    now: WallTime, isSecure: Bool = false, isExempt: Bool = false,
    trustedCountry: String? = nil
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
    self.trustedCountry = trustedCountry
  }
}

extension APIRequest {
  /// The value of the first header with this name (RFC 9110 §5.1).
  func header(_ name: String) -> String? {
    headers.first { $0.name.equalsIgnoringASCIICase(name) }?.value
  }

  func headerValues(_ name: String) -> [String] {
    headers.filter { $0.name.equalsIgnoringASCIICase(name) }.map(\.value)
  }

  /// The JSON object of the body; an empty body is an empty object. The body must be declared as
  /// JSON: a page of another site can send `text/plain` without a preflight (Fetch §4.8).
  func jsonObject() throws(Problem) -> JSONObject {
    let type = header("Content-Type")?.split(separator: ";").first?.trimmingBlanks
    guard body.isEmpty || (type ?? "").equalsIgnoringASCIICase("application/json") else {
      throw .unsupportedMediaType
    }
    return try undeclaredJSONObject()
  }

  /// The JSON object of a body of any declared type.
  func undeclaredJSONObject() throws(Problem) -> JSONObject {
    do throws(JSONObject.Fault) {
      return try JSONObject(body.isEmpty ? Array("{}".utf8) : body)
    } catch {
      throw .json(error)
    }
  }
}

/// Sends the pieces of a body with its argument, which returns false when the client has left. It
/// must end soon then, and within a time of its own, with bytes in number of its own.
public typealias BodyStream = @Sendable (_ send: @Sendable ([UInt8]) -> Bool) async -> Void

/// A body of known length that is read piece by piece, as fast as the client takes it.
public struct BodyPieces: Sendable {
  public var byteCount: Int64
  /// The bytes from an offset on, at least one; nil: they cannot be read, and the connection ends.
  public var next: @Sendable (_ offset: Int64) async -> [UInt8]?

  public init(byteCount: Int64, next: @escaping @Sendable (_ offset: Int64) async -> [UInt8]?) {
    self.byteCount = byteCount
    self.next = next
  }
}

public struct APIResponse: Sendable {
  public var status: Int
  public var headers: [(name: String, value: String)]
  public var body: [UInt8]
  /// The rest of the body, which is sent as it comes: runs once after the head was sent. Nil: there
  /// is none.
  public internal(set) var stream: BodyStream?
  /// The body instead of `body`; nil: `body`.
  public internal(set) var pieces: BodyPieces?
  /// The route that responded, as an index into the table of routes; nil: none.
  public internal(set) var route: Int?
  /// The body to return if the request is repeated under its `Idempotency-Key`: without secrets
  /// that are shown once. Nil: the same body.
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
    var response = self
    response.headers += cookies.map { ("Set-Cookie", $0) }
    return response
  }
}
