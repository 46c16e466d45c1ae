/// The text that `serve` prints once it listens: the URLs, the demo's login and the widget's
/// snippet.
import Settings

enum Banner {
  /// - Parameters:
  ///   - url: the gateway's URL for a browser on this machine.
  ///   - demo: nil without --demo.
  ///   - setupURL: nil if there is an operator.
  static func text(url: String, demo: DemoWorkspace?, setupURL: String? = nil) -> String {
    var lines = ["", "  Chirrup \(Version.text) is ready at \(url)", ""]
    if let setupURL {
      lines += [
        "  Nobody owns it yet. Set it up with this link (it works once, for 24 hours):", "",
        "  \(setupURL)", "", "  Or in a terminal: chirrup setup", "",
      ]
      return lines.joined(separator: "\n")
    }
    if let demo {
      let login =
        demo.password.map { "\(DemoWorkspace.email) / \($0)" }
        ?? "\(DemoWorkspace.email), with the password you have set"
      lines += [
        "  Demo page   \(url)/demo", "  Console     \(url)/console", "  Log in as   \(login)",
      ]
      lines += [
        "", "  On your website:",
        "  <script src=\"\(url)/widget.js\" data-workspace=\"\(demo.publicKey)\" async></script>",
        "",
      ]
    } else {
      lines += [
        "  Console     \(url)/console", "",
        "  The snippet for your website is in the console's settings, under Appearance.", "",
      ]
    }
    return lines.joined(separator: "\n")
  }

  /// The code is in the fragment, which browsers do not send: no proxy's log has it.
  static func setupURL(_ url: String, code: String) -> String { "\(url)/setup#\(code)" }

  /// The public URL, or that of the first listening address. The loopback address replaces the
  /// wildcards 0.0.0.0 and ::, which a browser cannot open.
  static func url(
    _ settings: Settings, listening plain: [ListenAddress], secure: [ListenAddress] = []
  ) -> String {
    if let url = settings.publicURL { return url }
    let scheme = plain.isEmpty ? "https" : "http"
    guard var address = plain.first ?? secure.first else { return "" }
    if address.host == "0.0.0.0" { address.host = "127.0.0.1" }
    if address.host == "::" { address.host = "::1" }
    return "\(scheme)://\(address)"
  }
}
