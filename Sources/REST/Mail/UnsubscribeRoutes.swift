/// The link in a visitor's e-mail that ends it. A GET changes nothing: programs that look for
/// harmful links follow it. Mail clients send the POST by themselves (RFC 8058 §3.2).
import Directory
import Mail
import Primitives

struct UnsubscribeRoutes: RouteGroup {
  let api: API

  func show(_ request: APIRequest) async throws(Problem) -> APIResponse {
    _ = try token(request)
    return MailPage.response(
      title: "Stop e-mails",
      """
      <p>You then get no more answers from us by e-mail. In the chat you still find them.</p>\
      <form method="post"><button>Stop e-mails</button></form>
      """)
  }

  func end(_ request: APIRequest) async throws(Problem) -> APIResponse {
    let token = try token(request)
    try await api.database.run(MailStops.add(token.addressHash, workspace: token.workspace))
    return MailPage.response(
      title: "You get no more e-mails", "<p>In the chat you still find our answers.</p>")
  }

  private func token(_ request: APIRequest) throws(Problem) -> UnsubscribeToken {
    let text = String(request.path.dropFirst(UnsubscribeToken.path.utf8.count))
    guard let token = UnsubscribeToken(text, by: api.options.secrets) else {
      throw .noSuchResource
    }
    return token
  }
}
