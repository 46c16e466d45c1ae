import Chat
import Testing
import Wire

@Suite("Browser assets")
struct AssetTests {
  @Test("every page and its parts are there")
  func pages() {
    for path in [
      "/widget.js", "/widget.d.ts", "/assets/widget/app.js", "/demo", "/console",
    ] {
      #expect(Asset.at(path) != nil, "\(path)")
    }
    #expect(Set(Asset.all.map(\.path)).count == Asset.all.count)
  }

  @Test("the widget in any one language has less than 15 KiB gzipped in all")
  func weight() throws {
    let parts = try ["/widget.js", "/assets/widget/app.js"].reduce(0) {
      try $0 + #require(Asset.at($1)).gzip.count
    }
    let languages = Asset.all.filter { $0.path.hasPrefix("/assets/widget/languages/") }
    #expect(languages.count == 6)
    for language in languages {
      let total = parts + language.gzip.count
      #expect(parts > 0 && total < 15 * 1024, "\(language.path): \(total) bytes")
    }
  }

  @Test("our own gzip files hold what they should, and are smaller than gzip's")
  func squeezing() throws {
    let made = Asset.all.filter { !$0.gzip.isEmpty }
    #expect(made.count == 9)
    for asset in made {
      let text = Array(asset.text.utf8)
      #expect(try gzip("-d", asset.gzip) == text, "\(asset.path)")
      #expect(try gzip("-9", text).count >= asset.gzip.count, "\(asset.path)")
    }
    for text in [String(repeating: "ab", count: 40_000), "\(Array(0..<9_000))"] {
      #expect(try gzip("-d", squeezed(text)) == Array(text.utf8))
    }
    // Where nothing is to be gained, it makes none.
    for text in ["", "a", "chirrup"] { #expect(squeezed(text).isEmpty) }
  }

  @Test("every language says everything, and the widget knows every language")
  func languages() throws {
    let english = try #require(Asset.at("/assets/widget/languages/en.js")).text
    let app = try #require(Asset.at("/assets/widget/app.js")).text
    for language in Asset.all where language.path.hasPrefix("/assets/widget/languages/") {
      let lines = language.text.split(separator: "\n", omittingEmptySubsequences: false)
      #expect(lines.count == english.split(separator: "\n", omittingEmptySubsequences: false).count)
      #expect(!lines.dropLast().contains(""), "\(language.path)")
      #expect(
        zip(lines, english.split(separator: "\n", omittingEmptySubsequences: false)).allSatisfy {
          $0.contains("{}") == $1.contains("{}")
        }, "\(language.path)")
      let code = String(language.path.dropLast(3).suffix(2))
      #expect(app.firstMatch(of: try Regex("'[a-z ]*\\b\(code)\\b[a-z ]*'")) != nil)
    }
  }

  @Test("what a page or module names is there too")
  func references() {
    for asset in Asset.all {
      for match in asset.text.matches(
        of: /(?:src|href)="(\/[^"#]*)"|from '([^']+)'|import '([^']+)'/)
      {
        let name = String(match.1 ?? match.2 ?? match.3 ?? "")
        let path = name.hasPrefix("/") ? name : resolve(name, from: asset.path)
        #expect(Asset.at(path) != nil, "\(asset.path) names \(name)")
      }
    }
  }

  @Test("no page has a script, a style or a handler of its own (its policy would refuse them)")
  func policy() {
    for page in Asset.all where page.type.hasPrefix("text/html") {
      #expect(!page.text.contains(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=|javascript:/))
    }
  }

  @Test("no module makes markup out of text")
  func markup() {
    for script in Asset.all where script.type.hasPrefix("text/javascript") {
      #expect(
        !script.text.contains(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(/),
        "\(script.path)")
    }
  }

  @Test("the browser's names of the protocol are the gateway's")
  func names() throws {
    let module = try #require(Asset.at("/assets/shared/protocol.js")).text
    func list(_ name: String) throws -> Set<String> {
      let expression = try Regex(
        "const \(name) = names\\(`([a-z_\\s]+)`\\)", as: (Substring, Substring).self)
      let match = try #require(module.firstMatch(of: expression))
      return Set(match.1.split(whereSeparator: \.isWhitespace).map(String.init))
    }
    #expect(try list("Ask") == Set(CommandType.allCases.map { "\($0.text)" }))
    #expect(try list("Fault") == Set(Refusal.allCases.map { "\($0.code)" } + ["disconnected"]))

    let codes: [CloseCode] = [
      .drain, .rebalance, .administrator, .tooSlow, .noPong, .rateAbuse, .overloaded, .holeSeen,
      .helloTimeout, .tokenExpired, .tokenInvalid, .tokenRevoked, .versionRefused, .banned,
      .originRefused, .disabled, .passwordChangeRequired,
    ]
    let named = module.matches(of: /\b4\d\d\d\b/).compactMap { UInt16($0.output) }
    #expect(named.sorted() == codes.map(\.rawValue).sorted())
  }

  private func resolve(_ name: String, from path: String) -> String {
    var folders = path.split(separator: "/").dropLast()
    for part in name.split(separator: "/") where part != "." {
      if part == ".." { folders.removeLast() } else { folders.append(part) }
    }
    return "/" + folders.joined(separator: "/")
  }
}
