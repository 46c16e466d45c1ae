/// The text that `serve` prints once it listens: the URLs, the demo's login and the widget's
/// snippet.
import Settings

enum Banner {
  /// - Parameters:
  ///   - url: the gateway's URL for a browser on this machine.
  ///   - demo: nil without --demo.
  static func text(url: String, demo: DemoWorkspace?) -> String {
    var lines = ["", "  Chirrup \(Version.text) is ready at \(url)", ""]
    if let demo {
      let login =
        demo.password.map { "\(DemoWorkspace.email) / \($0)" }
        ?? "\(DemoWorkspace.email), with the password you have set"
      lines += [
        "  Demo page   \(url)/demo", "  Console     \(url)/console", "  Log in as   \(login)",
      ]
    } else {
      lines += ["  Console     \(url)/console"]
    }
    let key = demo?.publicKey ?? "PUBLIC_KEY"
    lines += [
      "", "  On your website:",
      "  <script src=\"\(url)/widget.js\" data-workspace=\"\(key)\" async></script>", "",
    ]
    return lines.joined(separator: "\n")
  }

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
