/// The text of a message, as plain text and as HTML from the same parts: one column of 600 pixels
/// of tables with inline styles, which mail clients understand, and nothing to be loaded.
public struct Letter: Sendable, Equatable {
  public enum Part: Sendable, Equatable {
    case words(String)
    case strong(String)
    /// A message with its author and its time.
    case message(author: String, at: String, text: String)
    /// A link with its words; the address stands alone in the plain text.
    case link(String, url: String)
    /// The same as a button.
    case button(String, url: String)
    /// Earlier messages, smaller.
    case before(String, [(author: String, at: String, text: String)])
    /// A text as it is, with its line breaks.
    case verbatim(String)

    public static func == (left: Part, right: Part) -> Bool {
      Letter(brand: "", parts: [left]).html == Letter(brand: "", parts: [right]).html
    }
  }

  /// The workspace's name, at the head.
  public var brand: String
  public var parts: [Part]
  /// The line above which a reply stands; empty: nobody reads replies. Mail programs put what they
  /// quote below it.
  public var marker = ""
  /// Why the recipient gets it.
  public var reason = ""
  /// The link that ends such mail, with its words.
  public var ending: (words: String, url: String)?

  public init(brand: String, parts: [Part], reason: String = "") {
    self.brand = brand
    self.parts = parts
    self.reason = reason
  }

  public static func == (left: Letter, right: Letter) -> Bool { left.html == right.html }

  // MARK: Plain text

  public var text: String {
    var text = parts.map(plain).joined(separator: "\n\n")
    if !marker.isEmpty { text = "\(marker)\n\n\(text)" }
    // The delimiter of a signature (RFC 3676 §4.3).
    if !reason.isEmpty || ending != nil { text += "\n\n-- \n" }
    if !reason.isEmpty { text += brand.isEmpty ? reason : "\(brand). \(reason)" }
    if let ending { text += "\n\(ending.words):\n\(ending.url)" }
    return text + "\n"
  }

  private func plain(_ part: Part) -> String {
    switch part {
    case .words(let text), .strong(let text), .verbatim(let text): text
    case .message(let author, let at, let text): "\(author), \(at):\n\(text)"
    case .link(let words, let url), .button(let words, let url): "\(words):\n\(url)"
    case .before(let words, let messages):
      ([words] + messages.map { "\($0.author), \($0.at):\n\($0.text)" }).joined(separator: "\n")
    }
  }

  // MARK: HTML

  private static let head = """
    <!doctype html><html><head><meta charset="utf-8">\
    <meta name="viewport" content="width=device-width">\
    <meta name="color-scheme" content="light dark">\
    <style>@media (prefers-color-scheme:dark){.page{background:#0f1516!important}\
    .sheet,.sheet td{color:#e6ecec!important}.sheet .said{background:#182022!important;\
    border-color:#2c3739!important}.sheet .small{color:#9fb0b0!important}\
    .sheet a{color:#4fc4b1!important}.sheet a.go{background:#4fc4b1!important;\
    color:#0f1516!important}}</style></head>
    """
  private static let font =
    "font:16px/1.5 -apple-system,'Segoe UI',Roboto,'Noto Sans',Arial,sans-serif"
  private static let small = "font-size:14px;color:#566365"

  public var html: String {
    var rows = ""
    if !marker.isEmpty {
      let line = Letter.escaped(marker)
      rows += row("<span class=\"small\" style=\"\(Letter.small)\">\(line)</span>")
    }
    if !brand.isEmpty {
      rows += row("<b style=\"font-size:17px\">\(Letter.escaped(brand))</b>")
    }
    for part in parts { rows += row(markup(part)) }
    if !reason.isEmpty || ending != nil {
      var end = Letter.escaped(reason)
      if let ending { end += " " + anchor(ending.words, ending.url) }
      rows += row("<span class=\"small\" style=\"\(Letter.small)\">\(end)</span>")
    }
    return """
      \(Letter.head)
      <body class="page" style="margin:0;background:#f0f4f4">
      <table role="presentation" class="page" width="100%" style="background:#f0f4f4"><tr>\
      <td align="center">
      <table role="presentation" class="sheet" width="600" style="width:100%;max-width:600px;\
      text-align:left;color:#172022;\(Letter.font)">
      \(rows)</table></td></tr></table></body></html>

      """
  }

  private func row(_ content: String) -> String {
    "<tr><td dir=\"auto\" style=\"padding:10px 24px\">\(content)</td></tr>\n"
  }

  private func markup(_ part: Part) -> String {
    switch part {
    case .words(let text): return Letter.escaped(text)
    case .strong(let text): return "<b>\(Letter.escaped(text))</b>"
    case .message(let author, let at, let text):
      return """
        <table role="presentation" width="100%"><tr><td class="said" dir="auto" style="\
        padding:14px 18px;background:#fff;border:1px solid #d5dede;border-radius:8px"><b>\
        \(Letter.escaped(author))</b> <span class="small" style="\(Letter.small)">\
        \(Letter.escaped(at))</span><br>\
        \(Letter.escaped(text))</td></tr></table>
        """
    case .link(let words, let url): return anchor(words, url)
    case .button(let words, let url):
      return """
        <a class="go" href="\(Letter.escaped(url))" style="display:inline-block;padding:10px 18px;\
        border-radius:8px;background:#0b7468;color:#fff;text-decoration:none">\
        \(Letter.escaped(words))</a>
        """
    case .before(let words, let messages):
      let lines = messages.map {
        "<b>\(Letter.escaped($0.author))</b> \(Letter.escaped($0.at))<br>\(Letter.escaped($0.text))"
      }
      return """
        <div class="small" style="\(Letter.small)">\(Letter.escaped(words))<div \
        style="margin-top:6px;padding-left:12px;border-left:2px solid #c3cfcf">\
        \(lines.joined(separator: "<br>"))</div></div>
        """
    case .verbatim(let text):
      return "<span style=\"font-size:14px\">\(Letter.escaped(text))</span>"
    }
  }

  private func anchor(_ words: String, _ url: String) -> String {
    "<a href=\"\(Letter.escaped(url))\" style=\"color:#0b7468\">\(Letter.escaped(words))</a>"
  }

  public static func escaped(_ text: String) -> String {
    var escaped = ""
    for character in text.unicodeScalars {
      switch character {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "'": escaped += "&#39;"
      case "\n": escaped += "<br>\n"
      case "\r": break
      // No other control character may stand in HTML.
      case "\u{0}"..<" ", "\u{7F}"..<"\u{A0}": escaped += " "
      default: escaped.unicodeScalars.append(character)
      }
    }
    return escaped
  }
}
