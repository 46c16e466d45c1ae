import Attachments
import Chat
import Foundation
import Testing
import Wire

@Suite("Browser assets")
struct AssetTests {
  static let sources = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../Sources/WebAssets").standardized

  @Test("every page and its files are embedded, each once")
  func pages() {
    for name in [
      "/widget.js", "/widget.d.ts", "/assets/widget-app.js", "/demo", "/console",
      "/assets/console.js", "/assets/console.css", "/api", "/assets/reference.js",
      "/assets/reference.css",
    ] {
      #expect(Asset.named(name) != nil, "\(name)")
    }
    #expect(Set(Asset.all.map(\.path)).count == Asset.all.count)
    #expect(Set(Asset.all.map(\.name)).count == Asset.all.count)
  }

  @Test("the console is one script of 48,000 bytes at most, without its seldom pages")
  func console() throws {
    let page = try #require(Asset.named("/console"))
    let scripts = page.text.matches(of: /<script[^>]*src="([^"]+)"/).map { String($0.1) }
    #expect(scripts.count == 1)
    let script = try #require(Asset.at(scripts[0]))
    #expect(script.brotli.count <= 49_000)
    #expect(!script.text.contains(/import\s*(?:[\w{*][^;]*from\s*)?["']/))
    let pages = try #require(Asset.named("/assets/console-pages.js"))
    #expect(script.text.contains("import(\"\(pages.path)\")"))
  }

  @Test("the console has five languages besides English; the first load has 12,000 bytes of one")
  func consoleLanguages() throws {
    let script = try #require(Asset.named("/assets/console.js")).text
    let pages = try #require(Asset.named("/assets/console-pages.js")).text
    for code in ["ar", "de", "es", "ja", "th"] {
      let work = try #require(Asset.named("/assets/console-work-\(code).js"))
      let settings = try #require(Asset.named("/assets/console-settings-\(code).js"))
      #expect(!work.brotli.isEmpty && work.brotli.count <= 12_000, "\(code)")
      #expect(script.contains(work.path) && !script.contains(settings.path), "\(code)")
      #expect(pages.contains(work.path) && pages.contains(settings.path), "\(code)")
    }
  }

  @Test("the application's manifest names embedded icons of their sizes")
  func installable() throws {
    let manifest = try #require(Asset.named("/console.webmanifest"))
    let icons = manifest.text.matches(of: /"src": "([^"]+)", "sizes": "([^"]+)"/)
    #expect(icons.count == 4)
    for icon in icons {
      let asset = try #require(Asset.at(String(icon.1)))
      guard asset.type == "image/png" else { continue }
      // PNG (ISO 15948 §11.2.2): the width is at byte 16, the height behind it.
      let sides = [16, 20].map { at in asset.plain[at..<at + 4].reduce(0) { $0 << 8 | Int($1) } }
      #expect("\(sides[0])x\(sides[1])" == icon.2)
    }
    #expect(Asset.named("/console-worker.js") != nil)
  }

  static let languages = Asset.all.filter {
    $0.name.wholeMatch(of: /\/assets\/widget-[a-z]{2}\.js/) != nil
  }

  @Test("a page loads 2,000 bytes at most before the chat is opened, and 19,000 with any language")
  func weight() throws {
    let loader = try #require(Asset.named("/widget.js"))
    let app = try #require(Asset.named("/assets/widget-app.js"))
    #expect(!loader.gzip.isEmpty && loader.gzip.count <= 2_000)
    #expect(Self.languages.count == 6)
    for language in Self.languages {
      let files = [loader, app, language]
      #expect(files.allSatisfy { !$0.gzip.isEmpty && !$0.brotli.isEmpty })
      #expect(files.reduce(0) { $0 + $1.gzip.count } <= 19_000, "\(language.name)")
      #expect(files.reduce(0) { $0 + $1.brotli.count } <= 17_500, "\(language.name)")
    }
  }

  @Test("gzip gives the plain file back, and no compressed form is larger")
  func codings() throws {
    for asset in Asset.all {
      #expect(asset.gzip.isEmpty == asset.brotli.isEmpty, "\(asset.path)")
      #expect(asset.brotli.count <= asset.gzip.count && asset.gzip.count < asset.plain.count)
      if !asset.gzip.isEmpty {
        #expect(try inflated(asset.gzip) == asset.plain, "\(asset.path)")
      }
    }
  }

  @Test("the widget has the address of every language")
  func knownLanguages() throws {
    let app = try #require(Asset.named("/assets/widget-app.js")).text
    for language in Self.languages {
      #expect(app.contains("\"\(language.path)\"") || app.contains("'\(language.path)'"))
    }
  }

  @Test("attachments are files of their own, which no page loads before they are needed")
  func attachments() throws {
    for page in ["widget", "console"] {
      let first = try #require(Asset.named("/assets/\(page == "widget" ? "widget-app" : page).js"))
      let later = try #require(Asset.named("/assets/\(page)-files.js"))
      #expect(!later.brotli.isEmpty && later.brotli.count <= 13_000, "\(page)")
      #expect(first.text.contains(later.path) && !first.text.contains("createImageBitmap"))
      for code in ["ar", "de", "en", "es", "ja", "th"] {
        let texts = try #require(Asset.named("/assets/attachments-\(code).js"))
        #expect(!texts.brotli.isEmpty && texts.brotli.count <= 1_000, "\(code)")
        #expect(later.text.contains(texts.path) && !first.text.contains(texts.path), "\(code)")
      }
    }
  }

  @Test("widget and console know the types of files by their names, as the gateway does")
  func endings() throws {
    let module = try String(
      contentsOf: Self.sources.appending(path: "shared/attachments/limits.js"), encoding: .utf8)
    let groups = module.matches(of: /\n\ {2}([a-z]+): '([a-z0-9 ]+)',/).filter {
      AttachmentGroup(rawValue: String($0.1)) != nil
    }
    #expect(Set(groups.map(\.1)).count == AttachmentGroup.allCases.count)
    for group in groups {
      for ending in group.2.split(separator: " ") {
        let known = ContentType.group(ofName: "file.\(ending)")?.rawValue
        #expect(known == String(group.1), "\(ending)")
      }
    }
  }

  @Test("every language of attachments has the keys and the placeholders of English")
  func attachmentTexts() throws {
    let folder = "shared/attachments/languages"
    let english = try Self.texts("en", in: folder)
    #expect(english.count > 30 && Set(english.map(\.key)).count == english.count)
    for code in ["ar", "de", "es", "ja", "th"] {
      let other = try Self.texts(code, in: folder)
      #expect(other.map(\.key) == english.map(\.key), "\(code)")
      for (one, two) in zip(english, other) {
        let values = [one, two].map { $0.text.matches(of: /\{\d?\}/).map { "\($0.output)" } }
        #expect(values[0].sorted() == values[1].sorted(), "\(code): \(two.key)")
      }
    }
  }

  /// The texts of one language by key, in the order of its module, one a line.
  static func texts(
    _ code: String, in folder: String = "widget/languages"
  ) throws -> [(key: String, text: String)] {
    let module = try String(
      contentsOf: sources.appending(path: "\(folder)/\(code).js"), encoding: .utf8)
    let lines = module.split(separator: "\n").drop { $0 != "export default {" }
    #expect(lines.last == "};", "\(code)")
    return try lines.dropFirst().dropLast().map { line in
      let match = try #require(line.wholeMatch(of: /\ {2}([a-z_]+): '([^'\\]+)',/), "\(line)")
      return (String(match.1), String(match.2))
    }
  }

  @Test("every language has the keys and the placeholders of English")
  func sameTexts() throws {
    let english = try Self.texts("en")
    #expect(english.count > 50 && Set(english.map(\.key)).count == english.count)
    for code in Self.languages.map({ $0.name.suffix(5).prefix(2) }) {
      let other = try Self.texts(String(code))
      #expect(other.map(\.key) == english.map(\.key), "\(code)")
      for (one, two) in zip(english, other) {
        let counts = [one, two].map { $0.text.matches(of: /\{\}/).count }
        #expect(counts[0] == counts[1] && counts[0] <= 1, "\(code): \(two.key)")
      }
    }
  }

  @Test("each file that a page, script or style sheet refers to is embedded")
  func references() {
    var count = 0
    for asset in Asset.all {
      for match in asset.text.matches(
        of: /(?:src|href)="(\/[^"#]*)"|["'`(](\/assets\/[^"'`)]+)/)
      {
        let path = String(match.1 ?? match.2 ?? "")
        #expect(Asset.at(path) != nil, "\(asset.path) names \(path)")
        count += 1
      }
      #expect(!asset.text.contains("sourceMappingURL="), "\(asset.path)")
    }
    #expect(count > 20)
  }

  @Test("no page has inline scripts, styles or handlers, which its policy refuses")
  func policy() {
    for page in Asset.all where page.type.hasPrefix("text/html") {
      #expect(!page.text.contains(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=|javascript:/))
    }
  }

  @Test("no script makes markup out of text")
  func markup() {
    for script in Asset.all where script.type.hasPrefix("text/javascript") {
      #expect(
        !script.text.contains(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(/),
        "\(script.path)")
    }
  }

  @Test("the names in protocol.js are those of the gateway")
  func names() throws {
    let module = try String(
      contentsOf: Self.sources.appending(path: "shared/protocol.js"), encoding: .utf8)
    func list(_ name: String) throws -> Set<String> {
      let expression = try Regex(
        "const \(name) = /\\*\\* @type \\{Names<`([a-z_\\s]+)`>", as: (Substring, Substring).self)
      let match = try #require(module.firstMatch(of: expression))
      return Set(match.1.split(whereSeparator: \.isWhitespace).map(String.init))
    }
    #expect(try list("Command") == Set(CommandType.allCases.map { "\($0.text)" }))
    #expect(try list("Fault") == Set(Refusal.allCases.map { "\($0.code)" } + ["disconnected"]))

    let codes: [CloseCode] = [.noPong, .holeSeen, .tokenInvalid]
    let named = module.matches(of: /\b4\d\d\d\b/).compactMap { UInt16($0.output) }
    #expect(named.sorted() == codes.map(\.rawValue).sorted())
  }
}
