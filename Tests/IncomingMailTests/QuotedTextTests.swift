import Fixtures
import Testing

@testable import IncomingMail

@Suite struct QuotedTextTests {
  private static let marker = "--- Reply above this line ---"

  @Test(arguments: [
    ("new\n\nOn Mon, 3 May 2027 at 10:12, Ann wrote:\n> old", "new"),
    ("new\n\nOn Mon, 3 May 2027 at 10:12, Ann <a@b.example>\nwrote:\n\n> old", "new"),
    ("new\n\nAm 03.05.2027 um 10:12 schrieb Ann:\n> alt", "new"),
    ("new\n\nAm 3. Mai 2027 schrieb Ann\nMüller <a@b.example>:\n\n> alt", "new"),
    ("new\n\nOp 3 mei 2027 om 10:12 schreef Ann:\n> oud", "new"),
    ("new\n\nLe 3 mai 2027 à 10:12, Ann a écrit :\n> vieux", "new"),
    ("new\n\nEl 3 may 2027, a las 10:12, Ann escribió:\n> viejo", "new"),
    ("new\n\nAnn kirjoitti 3.5.2027:\n\n> \(marker)\n> old", "new"),
    ("new\n\n\(marker)\n\nold", "new"), ("new\n\n*\(marker)*\nold", "new"),
    ("new\n-----Original Message-----\nold", "new"),
    ("new\n\nFrom: Ann\nSent: Monday\nTo: Ada\n\nold", "new"),
    ("new\n\nVon: Ann\nGesendet: Montag\n\nalt", "new"),
    ("new\n> old\n> older\n", "new"), ("new\r\n> old\r\n", "new"),
    ("new\n-- \nAda\nAnalytical Engines", "new"),
  ])
  func `what a reply quotes is cut`(text: String, new: String) {
    #expect(QuotedText.new(of: text) == new)
  }

  @Test(arguments: [
    // Answers between quotations.
    "> one?\n\nyes\n\n> two?\n\nno",
    // No quotation follows.
    "On Monday 3 May Ann wrote:\nthis is what she wrote",
    "On 3 May I go. She wrote:\nfine\n> x\ny",
    "Am 3. Mai schrieb Ann:\ndas hat sie geschrieben",
    "From: here to there", "From: the station\nit is far",
    // Nothing would be left.
    "> all of it", "\(marker)\nbelow", "-- \nAda",
    // A long text below a line of hyphens.
    "a\n--\n" + (0..<20).map { "line \($0)" }.joined(separator: "\n"),
  ])
  func `what may be new stays`(text: String) {
    #expect(QuotedText.new(of: text) == text)
  }

  @Test(arguments: ["> \n", "On 1 \n", "\n", "From: abc\n", "--\n", ">", "On 1 a:\n", "x", " "])
  func `the time is proportional to the length`(piece: String) {
    let growth = growth(length: 80_000) { length in
      let text = String(repeating: piece, count: length / piece.utf8.count)
      #expect(QuotedText.new(of: text).utf8.count <= text.utf8.count)
    }
    #expect(growth < 8)
  }
}
