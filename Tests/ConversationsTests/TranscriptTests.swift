import Chat
import Conversations
import Primitives
import Testing

@Suite struct TranscriptTests {
  private func entry(
    _ role: Role, _ kind: EntryKind, _ name: String, _ body: String, payload: String = ""
  ) -> Entry {
    Entry(
      seq: 1, id: Identifier(high: 1, low: 2), role: role, kind: kind, sender: nil,
      senderName: Array(name.utf8), body: Array(body.utf8), payload: Array(payload.utf8),
      at: WallTime(microseconds: 1_763_733_780_000_000))
  }

  private func text(_ entry: Entry) -> String {
    var text: [UInt8] = []
    Transcript.append(entry, to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  @Test("further lines are indented: a body cannot imitate another line")
  func forgery() {
    #expect(
      text(entry(.visitor, .text, "", "Hello\r\n2026-01-01 00:00 UTC  Mika: forged"))
        == """
        2025-11-21 14:03 UTC  Visitor: Hello
                              2026-01-01 00:00 UTC  Mika: forged

        """)
    #expect(
      text(entry(.operator_, .text, "Mi\nka", "Hi")) == "2025-11-21 14:03 UTC  Mika: Hi\n")
  }

  @Test("an entry without a name has that of its role; an event has a dash")
  func names() {
    for (role, name) in [
      (.visitor, "Visitor"), (.user, "Visitor"), (.bot, "Bot"), (.assistant, "Bot"),
      (.operator_, "Operator"),
    ] as [(Role, String)] {
      #expect(text(entry(role, .text, "", "x")) == "2025-11-21 14:03 UTC  \(name): x\n")
    }
    #expect(
      text(entry(.system, .event, "", "Mika joined")) == "2025-11-21 14:03 UTC  — Mika joined\n")
  }

  @Test("notes and the operators' own events are left out")
  func hidden() {
    #expect(!Transcript.shows(entry(.operator_, .note, "Mika", "secret")))
    for (event, isShown) in [
      ("claimed", true), ("closed", true), ("transferred", true), ("assigned", false),
      ("unassigned", false), ("rated", false),
    ] {
      let line = entry(.system, .event, "", "x", payload: #"{"event":"\#(event)"}"#)
      #expect(Transcript.shows(line) == isShown, "\(event)")
    }
    #expect(Transcript.shows(entry(.visitor, .text, "", "x")))
    #expect(Transcript.shows(entry(.system, .event, "", "x", payload: "no JSON")))
  }
}
