import REST
import Settings
import Webhooks
import Wire

/// The routes that need no database: pages, probes and metrics.
enum StaticRoutes {
  static let metricsPath = "/metrics"

  static func answer(_ head: RequestHead, _ context: GatewayContext) -> APIResponse {
    guard head.method == .get || head.method == .head else {
      let known = ["/healthz", "/readyz", metricsPath, "/"].contains(head.path)
      return known || context.assets[head.path] != nil
        ? HTTPResponse.problem(
          405, "This path supports GET and HEAD only.", headers: [("Allow", "GET, HEAD")])
        : notFound
    }
    switch head.path {
    case "/healthz": return HTTPResponse.text(200, "ok\n")
    case "/readyz":
      let (isReady, json) = context.metrics.readiness()
      return HTTPResponse.text(isReady ? 200 : 503, json + "\n", type: "application/json")
    case metricsPath:
      return HTTPResponse.text(
        200, PrometheusText.text(context.metrics.read(), context.deliveries.metrics),
        type: "text/plain; version=0.0.4; charset=utf-8")
    case "/":
      return APIResponse(
        status: 302, headers: [("Location", context.settings.demo ? "/demo" : "/console")])
    case "/demo" where !context.settings.demo: return notFound
    default: return asset(head, context)
    }
  }

  private static let notFound = HTTPResponse.problem(404, "There is nothing at this path.")

  private static func asset(_ head: RequestHead, _ context: GatewayContext) -> APIResponse {
    guard let asset = context.assets[head.path] else { return notFound }
    let coding = AcceptEncoding.preferred(
      head.fields, among: AcceptEncoding.Coding.allCases.filter { asset.codings[$0] != nil })
    let form = coding.flatMap { asset.codings[$0] } ?? asset.plain
    var headers: [(name: String, value: String)] = [
      ("ETag", form.entityTag), ("Cache-Control", asset.caching.rawValue),
      ("X-Content-Type-Options", "nosniff"),
      ("Content-Security-Policy", HTTPResponse.contentSecurityPolicy),
      ("Referrer-Policy", "no-referrer"),
    ]
    if asset.isShared {
      headers.append(("Access-Control-Allow-Origin", "*"))
      headers.append(("Cross-Origin-Resource-Policy", "cross-origin"))
    }
    // RFC 9110 §12.5.5: caches keep the forms apart; a 304 needs it too.
    if !asset.codings.isEmpty { headers.append(("Vary", "Accept-Encoding")) }
    // RFC 9110 §13.1.2: compared with the tag of the form that would be sent.
    let known = head.fields.list(of: "if-none-match")
    if known.contains("*") || known.contains(form.entityTag)
      || known.contains("W/" + form.entityTag)
    {
      return APIResponse(status: 304, headers: headers)
    }
    headers.append(("Content-Type", asset.contentType))
    if let coding { headers.append(("Content-Encoding", coding.rawValue)) }
    return APIResponse(status: 200, headers: headers, body: form.bytes)
  }
}
