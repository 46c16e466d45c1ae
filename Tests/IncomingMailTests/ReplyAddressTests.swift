import Directory
import Mail
import Primitives
import Testing

@testable import IncomingMail

@Suite struct ReplyAddressTests {
  private let secrets = SecretBox(configured: ["first"], signingKey: [1])
  private let session = Identifier(high: 0x0123_4567_89AB_7DEF, low: 0x8FFF_0000_1111_2222)
  private let workspace = Identifier(high: 1, low: 2)

  private func base(_ address: String = "chat@example.com") throws -> ReplyAddress {
    let mailbox = try #require(MailAddress(address))
    return try #require(ReplyAddress(mailbox))
  }

  @Test func `a token names its conversation, in any case of its letters`() throws {
    let base = try base("Chat@Example.com")
    let address = try #require(base.address(of: session, in: workspace, by: secrets)).address
    #expect(address.prefix { $0 != "@" }.utf8.count <= 64)
    for text in [address, address.uppercased(), address.lowercased()] {
      let token = try #require(base.token(in: text))
      #expect(token.session == session)
      #expect(token.isAuthentic(in: workspace, by: secrets))
    }
  }

  @Test func `a token counts for its workspace, its conversation and our keys only`() throws {
    let base = try base()
    let address = try #require(base.address(of: session, in: workspace, by: secrets)).address
    let token = try #require(base.token(in: address))
    #expect(!token.isAuthentic(in: session, by: secrets))
    #expect(!token.isAuthentic(in: workspace, by: SecretBox(configured: ["x"], signingKey: [2])))
    let rotated = SecretBox(configured: ["second", "first"], signingKey: [1])
    #expect(token.isAuthentic(in: workspace, by: rotated))
    var authentic = 0
    for place in address.indices where address[place] != "@" {
      var changed = address
      changed.replaceSubrange(place...place, with: address[place] == "q" ? "z" : "q")
      if let token = base.token(in: changed), token.isAuthentic(in: workspace, by: secrets) {
        authentic += 1
      }
    }
    // The spare bits of the last digit do not count.
    #expect(authentic <= 1)
  }

  @Test(arguments: [
    "chat@example.com", "chat+r.@example.com", "chat+r.short@example.com", "", "@",
    "chat+r.\(String(repeating: "a", count: 42))@example.org",
    "chat+r.\(String(repeating: "1", count: 42))@example.com",
    "chat+r.\(String(repeating: "a", count: 43))@example.com",
    "chat+x.\(String(repeating: "a", count: 42))@example.com",
  ])
  func `other addresses have no token`(address: String) throws {
    #expect(try base().token(in: address) == nil)
  }

  @Test func `our own addresses`() throws {
    let base = try base()
    #expect(base.isOwn("CHAT@example.com") && !base.isOwn("other@example.com"))
    let address = try #require(base.address(of: session, in: workspace, by: secrets)).address
    #expect(base.isOwn(address))
  }

  @Test func `a mailbox whose name leaves no room for a token is refused`() throws {
    let local = String(repeating: "a", count: ReplyAddress.localBytesMax)
    #expect(ReplyAddress.localBytesMax == 19)
    let address = try base("\(local)@example.com").address(of: session, in: workspace, by: secrets)
    #expect(address?.local.utf8.count == 64)
    let longer = try #require(MailAddress("a\(local)@example.com"))
    #expect(ReplyAddress(longer) == nil)
  }
}
