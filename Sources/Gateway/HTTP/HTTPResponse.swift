import JSON
import Primitives
import REST
import Wire

/// Writes complete HTTP responses, each with a length and a date. Pages get the headers that
/// restrict the browser.
enum HTTPResponse {
  /// Scripts, styles and connections of the own origin only, and no embedding in frames.
  static let contentSecurityPolicy = """
    default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data:; manifest-src 'self'; worker-src 'self'; \
    base-uri 'none'; form-action 'self'; frame-ancestors 'none'
    """

  /// No page uses these functions of the browser; injected script shall not either.
  static let permissionsPolicy = """
    camera=(), microphone=(), geolocation=(), display-capture=(), payment=(), usb=(), serial=(), \
    hid=(), midi=(), accelerometer=(), gyroscope=(), magnetometer=()
    """

  static func append(
    _ response: APIResponse, isHead: Bool = false, isKeptAlive: Bool, at time: WallTime,
    to output: inout [UInt8]
  ) {
    ResponseHead.appendStatusLine(response.status, to: &output)
    ResponseHead.appendDate(time, to: &output)
    for (name, value) in response.headers {
      appendField(name, value, to: &output)
    }
    // RFC 9110 §8.6: no Content-Length with 204 and 304; the length of a stream is not known.
    if response.status != 204 && response.status != 304 && response.stream == nil {
      let count = response.pieces.map { Int($0.byteCount) } ?? response.body.count
      ResponseHead.appendField("Content-Length", count, to: &output)
    }
    // RFC 9110 §7.8: a 426 names the protocol in Upgrade, which is a field of this connection.
    let upgrade: StaticString = response.status == 426 ? "Upgrade, close" : "close"
    ResponseHead.appendField(
      "Connection", isKeptAlive ? "keep-alive" : upgrade.description, to: &output)
    ResponseHead.appendEnd(to: &output)
    if !isHead && response.status != 204 && response.status != 304 {
      output.append(contentsOf: response.body)
    }
  }

  /// A field whose name comes from our own code, but is no constant. Control characters of the
  /// value become spaces.
  private static func appendField(_ name: String, _ value: String, to output: inout [UInt8]) {
    output.append(name)
    output.append(": ")
    for byte in value.utf8 { output.append(byte.isASCIIControl ? 0x20 : byte) }
    output.append("\r\n")
  }

  static func text(_ status: Int, _ text: String, type: String = "text/plain; charset=utf-8")
    -> APIResponse
  {
    APIResponse(
      status: status,
      headers: [
        ("Content-Type", type), ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
      ], body: Array(text.utf8))
  }

  static func redirect(to path: String) -> APIResponse {
    APIResponse(
      status: 302, headers: [("Location", path), ("X-Content-Type-Options", "nosniff")])
  }

  /// A problem (RFC 9457): `type` names it for programs, as in the REST API; `detail` tells a
  /// person what to do.
  static func problem(
    _ status: Int, _ detail: String, headers: [(name: String, value: String)] = []
  ) -> APIResponse {
    var response = text(status, "", type: "application/problem+json")
    response.headers.append(contentsOf: headers)
    response.body = [UInt8].object { json in
      json.appendMember("type", "urn:chirrup:problem:\(type(of: status))")
      json.appendMember("title", ResponseHead.reasonPhrase(of: status).description)
      json.appendMember("status", Int64(status))
      json.appendMember("detail", detail)
    }
    return response
  }

  private static func type(of status: Int) -> StaticString {
    switch status {
    case 400: "bad_request"
    case 403: "forbidden"
    case 404: "not_found"
    case 405: "method_not_allowed"
    case 408: "request_timeout"
    case 413: "too_large"
    case 414: "target_too_long"
    case 417: "expectation_failed"
    case 421: "wrong_host"
    case 426: "upgrade_required"
    case 429: "rate_limited"
    case 431: "head_too_large"
    case 501: "not_implemented"
    case 503: "unavailable"
    case 505: "version_not_supported"
    default: "error"
    }
  }
}
