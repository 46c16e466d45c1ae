import Testing

@testable import Attachments

/// What a file is, and what it is called. Hostile ones are faults X09 and X10.
@Suite struct ContentTests {
  private func judged(_ bytes: [UInt8], _ name: String, isWhole: Bool = true) -> String? {
    ContentType.judge(bytes, isWhole: isWhole, name: name)?.name
  }

  @Test("the bytes decide, not the name")
  func bytes() {
    let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0]
    #expect(judged(png, "x.txt") == "image/png")
    #expect(judged([0xFF, 0xD8, 0xFF, 0xE0], "x") == "image/jpeg")
    #expect(judged(Array("GIF89a<script>".utf8), "x") == "image/gif")
    #expect(judged(Array("RIFF....WEBPVP8 ".utf8), "x") == "image/webp")
    #expect(judged(Array("RIFF....WAVEfmt ".utf8), "x") == "audio/wav")
    #expect(judged(Array("....ftypmp42".utf8), "x") == "video/mp4")
    #expect(judged(Array("....ftypM4A ".utf8), "x") == "audio/mp4")
    #expect(judged(Array("%PDF-1.7".utf8), "x") == "application/pdf")
    #expect(judged([0x7F, 0x45, 0x4C, 0x46, 0, 0], "x.txt") == nil)
    #expect(judged(Array("MZ\u{90}\0\u{3}".utf8), "x.txt") == nil)
    #expect(judged([], "x.txt") == nil)
  }

  @Test("a document of an office program is an archive with its name and its first file")
  func office() {
    let zip: [UInt8] = [0x50, 0x4B, 0x03, 0x04] + Array(repeating: 0, count: 26)
    let document = zip + Array("[Content_Types].xml".utf8)
    #expect(judged(document, "a.docx")?.hasSuffix("wordprocessingml.document") == true)
    #expect(judged(document, "a.zip") == "application/zip")
    #expect(judged(zip + Array("evil.exe".utf8), "a.docx") == "application/zip")
    #expect(ContentType.judge(zip, isWhole: true, name: "a.docx")?.fits("a.docx") == false)
  }

  @Test("texts are texts, and pages and drawings are known as such")
  func texts() {
    #expect(judged(Array("a,b\n".utf8), "x.csv") == "text/csv")
    #expect(judged(Array("häuser".utf8), "x") == "text/plain")
    #expect(judged([0x68, 0xE4, 0x75], "x.txt") == "text/plain")
    #expect(judged([0x68, 0xE4, 0x75], "x") == nil)
    #expect(judged(Array("  <!DOCTYPE html><p>".utf8), "x.txt") == "text/html")
    #expect(judged(Array("<p onclick=x>".utf8), "x.html") == "text/html")
    #expect(judged(Array("<?xml version='1.0'?><svg/>".utf8), "x.xml") == "image/svg+xml")
    #expect(judged(Array("<?xml version='1.0'?><a/>".utf8), "x") == "application/xml")
    #expect(judged(Array("text\0text".utf8), "x.txt") == nil)
    // The end of the head cuts a character.
    let cut = Array("häu".utf8).dropLast(2)
    #expect(judged(Array(cut), "x", isWhole: false) == "text/plain")
    #expect(judged(Array(cut), "x", isWhole: true) == nil)
  }

  @Test("a name that promises another kind of file does not fit")
  func promises() {
    let page = ContentType("text/html", .text)
    #expect(!page.fits("photo.png") && page.fits("page.html") && page.fits("page"))
    #expect(ContentType("video/webm", .video).fits("voice.weba"))
    #expect(!ContentType("image/png", .images).fits("a.pdf"))
    #expect(ContentType.isForeign("a.exe") && ContentType.isForeign("a.SCR"))
    #expect(!ContentType.isForeign("a.png") && !ContentType.isForeign("README"))
    #expect(!ContentType.isForeign("Version 1.2") && ContentType.group(ofName: "A.PNG") == .images)
  }

  @Test("nothing that a browser would run is shown by it")
  func inline() {
    for type in ContentType.inline {
      #expect(type.hasPrefix("image/") && !type.contains("svg"))
    }
  }

  @Test(
    "names lose folders, controls and marks of direction",
    arguments: [
      ("a/b/c.txt", "c.txt"), ("..\\..\\x.txt", "x.txt"), ("..", "file"), ("", "file"),
      ("a\r\nb.txt", "a  b.txt"), ("\u{202E}gpj.exe", "gpj.exe"), ("x.txt. . ", "x.txt"),
      ("\u{2066}a\u{2069}.txt", "a.txt"), ("👩‍🚒.png", "👩‍🚒.png"), ("a\u{2028}b", "a b"),
    ])
  func names(_ sent: String, _ kept: String) {
    #expect(AttachmentName.clean(sent) == kept)
  }

  @Test("a long name keeps its end")
  func longNames() {
    let name = AttachmentName.clean(String(repeating: "ä", count: 300) + ".pdf")
    #expect(name.hasSuffix("ä.pdf") && name.utf8.count <= AttachmentLimits.nameBytes)
    #expect(name.utf8.count >= AttachmentLimits.nameBytes - 1)
  }

  @Test("a name cannot leave its header")
  func disposition() {
    let value = AttachmentName.disposition("a\"; x=\\\r\nä%41.txt", isInline: false)
    #expect(
      value == "attachment; filename=\"a_; x=____ _41.txt\"; "
        .replacing("____ _", with: "____" + "_")
        + "filename*=UTF-8''a%22%3B%20x%3D%5C%0D%0A%C3%A4%2541.txt")
    #expect(AttachmentName.disposition("a.png", isInline: true).hasPrefix("inline; "))
  }

  @Test("keys consist of ids only")
  func keys() throws {
    let text = "0199c5a2-7be1-7d40-9c55-3f0e8a61b204/0199c5a2-7be1-7d40-9c55-3f0e8a61b205"
    let key = try #require(AttachmentKey(text))
    #expect(key.text == text && !key.isThumbnail)
    #expect(AttachmentKey(text + ".thumbnail")?.isThumbnail == true)
    for wrong in ["", "/", "x/y", text + "/", text + "/..", "../" + text, text + ".x"] {
      #expect(AttachmentKey(wrong) == nil)
    }
  }
}
