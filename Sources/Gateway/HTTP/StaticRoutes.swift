import Kernel
import REST
import Settings
import Webhooks
import Wire

/// The routes that need no database: pages, probes and metrics.
enum StaticRoutes {
  static let metricsPath = "/metrics"

  /// The public listeners.
  static func answer(_ head: RequestHead, _ context: GatewayContext) -> APIResponse {
    if let answer = operationsAnswer(head, context, hasMetrics: context.settings.adminIsPublic) {
      return answer
    }
    guard head.method == .get || head.method == .head else {
      return head.path == "/" || context.assets[head.path] != nil ? methodNotAllowed : notFound
    }
    switch head.path {
    case "/":
      return HTTPResponse.redirect(to: context.settings.demo ? "/demo" : "/console")
    case "/demo" where !context.settings.demo: return notFound
    default: return asset(head, context)
    }
  }

  /// The listeners of `admin_listen`.
  static func adminAnswer(_ head: RequestHead, _ context: GatewayContext) -> APIResponse {
    operationsAnswer(head, context, hasMetrics: true) ?? notFound
  }

  /// A token for `chirrup doctor`, see `ProxyProbe`.
  private static func probeAnswer(_ head: RequestHead, _ context: GatewayContext) -> APIResponse {
    guard head.method == .post else {
      return HTTPResponse.problem(
        405, "This path supports POST only.", headers: [("Allow", "POST")])
    }
    let token = context.probe.issue(now: SystemClock.now())
    return HTTPResponse.text(
      201, "{\"path\":\"\(ProxyProbe.path)\(token)\"}\n", type: "application/json")
  }

  /// Probes and metrics, and on an admin listener tokens of the doctor; nil for other paths.
  private static func operationsAnswer(
    _ head: RequestHead, _ context: GatewayContext, hasMetrics: Bool
  ) -> APIResponse? {
    if hasMetrics, head.path == ProxyProbe.issuePath { return probeAnswer(head, context) }
    guard
      head.path == "/healthz" || head.path == "/readyz" || hasMetrics && head.path == metricsPath
    else { return nil }
    guard head.method == .get || head.method == .head else { return methodNotAllowed }
    switch head.path {
    case "/healthz": return HTTPResponse.text(200, "ok\n")
    case "/readyz":
      let (isReady, json) = context.metrics.readiness()
      return HTTPResponse.text(isReady ? 200 : 503, json + "\n", type: "application/json")
    default:
      return HTTPResponse.text(
        200,
        PrometheusText.text(MetricsSnapshot(context)),
        type: "text/plain; version=0.0.4; charset=utf-8")
    }
  }

  private static let methodNotAllowed = HTTPResponse.problem(
    405, "This path supports GET and HEAD only.", headers: [("Allow", "GET, HEAD")])

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
      ("Permissions-Policy", HTTPResponse.permissionsPolicy),
      ("Cross-Origin-Opener-Policy", "same-origin"),
    ]
    if asset.isShared {
      headers.append(("Access-Control-Allow-Origin", "*"))
      headers.append(("Cross-Origin-Resource-Policy", "cross-origin"))
    } else {
      headers.append(("Cross-Origin-Resource-Policy", "same-origin"))
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
