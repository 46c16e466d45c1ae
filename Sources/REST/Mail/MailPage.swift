/// Small pages without scripts, to which links in e-mails lead.
import Mail

enum MailPage {
  private static let style = """
    body{font:16px/1.5 system-ui,sans-serif;margin:0;background:#f0f4f4;color:#172022}\
    :root{color-scheme:light dark}main{box-sizing:border-box;width:calc(100% - 32px);\
    max-width:476px;margin:12vh auto;padding:28px;background:#fff;border-radius:12px}\
    h1{font-size:20px;margin:0 0 12px}label{display:block;margin:16px 0 4px}\
    input{font:inherit;box-sizing:border-box;width:100%;padding:10px;border:1px solid #889596;\
    border-radius:8px;background:#fff;color:inherit}\
    button{font:inherit;margin-top:16px;padding:10px 18px;min-height:44px;border:0;\
    border-radius:8px;background:#0b7468;color:#fff}.fault{color:#a3261d}a{color:#0b7468}\
    @media(prefers-color-scheme:dark){body{background:#0f1516;color:#e6ecec}\
    main{background:#182022}input{background:#0f1516}a{color:#4fc4b1}.fault{color:#ff9d94}\
    button{background:#4fc4b1;color:#0f1516}}
    """
  private static let policy =
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; "
    + "frame-ancestors 'none'"

  /// - Parameter content: markup.
  static func response(status: Int = 200, title: String, _ content: String) -> APIResponse {
    let page = """
      <!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" \
      content="width=device-width"><meta name="robots" content="noindex"><title>\(title)</title>\
      <style>\(style)</style><main><h1>\(title)</h1>\(content)</main></html>

      """
    return APIResponse(
      status: status,
      headers: [
        ("Content-Type", "text/html; charset=utf-8"), ("Content-Security-Policy", policy),
        // The address has a secret.
        ("Referrer-Policy", "same-origin"),
      ], body: Array(page.utf8))
  }
}
