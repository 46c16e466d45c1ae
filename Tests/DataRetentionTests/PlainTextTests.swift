import Fixtures
import Testing
import Texts

@testable import DataRetention

/// The texts of HTML and BBCode, which people and programs write in every wrong way.
@Suite struct PlainTextTests {
  @Test func `the address of a link or an image follows its text, if it is one of the web`() {
    for (html, text) in [
      (
        #"<p>See <a href="https://x.example/?a=1&amp;b=2">it</a>.</p>"#,
        "See it (https://x.example/?a=1&b=2)."
      ),
      (#"<a href="https://x.example">https://x.example</a>"#, "https://x.example"),
      (#"<a href='javascript:alert(1)'>no</a> <a>none</a> </a>"#, "no none"),
      (
        #"<img alt="" src="https://x.example/i.png"><img src="data:x">"#,
        "[image: https://x.example/i.png]"
      ),
      (#"<style>a{}</style><ul><li>one</li><li>two</li></ul>"#, "- one\n\n- two"),
      ("2 < 3 &amp; 4 &lt; 5 &unknown; &#x1F6B2;", "2 < 3 & 4 < 5 &unknown; 🚲"),
    ] {
      #expect(PlainText.ofHTML(html, withLinks: true) == text)
    }
  }

  @Test func `BBCode becomes text, and what is none stays`() {
    for (code, text) in [
      ("[b]bold[/b] [B][i]both[/i][/B]", "bold both"),
      (
        "[url=https://x.example]it[/url] [url]https://x.example[/url]",
        "it (https://x.example) https://x.example"
      ),
      ("[img]https://x.example/i.png[/img]", "https://x.example/i.png"),
      ("a [note] [1] [/] [ [] [[b]] [b", "a [note] [1] [/] [ [] [] [b"),
      ("[file=1_2] [file=]", "[file] [file=]"), ("[/url][/b]", ""),
    ] {
      #expect(LiveHelperChatText.plain(code, files: [:]) == text)
    }
  }

  @Test func `random markup never traps`() {
    var damage = Damage(seed: 1)
    let pieces = [
      "<", ">", "</", "<a href=\"https://x\">", "</a>", "<style>", "<!--", "-->", "&", ";", "&#x",
      "&#0;", "[", "]", "[/", "[url=", "[/url]", "[file=1_", "[b]", "é", "🚲", " ", "\n", "\"", "=",
    ]
    for _ in 0..<2_000 {
      let count = Int.random(in: 0...30, using: &damage)
      let text = (0..<count).map { _ in pieces.randomElement(using: &damage) ?? "" }.joined()
      #expect(PlainText.ofHTML(text, withLinks: true).utf8.count <= text.utf8.count * 3)
      #expect(LiveHelperChatText.plain(text, files: [:]).utf8.count <= text.utf8.count * 3)
    }
  }

  @Test(arguments: ["[", "[url=x]", "[b", "<", "<a href=\"https://x\">", "</a>", "<b ", "&"])
  func `the time is proportional to the length`(piece: String) {
    let growth = growth(length: 80_000) { length in
      let text = String(repeating: piece, count: length / piece.utf8.count)
      #expect(PlainText.ofHTML(text, withLinks: true).utf8.count <= text.utf8.count)
      #expect(LiveHelperChatText.plain(text, files: [:]).utf8.count <= text.utf8.count * 2)
    }
    #expect(growth < 8)
  }
}
