/// The token in the link that ends a visitor's e-mail: it names the workspace and the address's
/// digest, and a code of the gateways' keys shows that they made it. It does not end.
public import Directory
public import Primitives

public struct UnsubscribeToken: Sendable, Equatable {
  public var workspace: Identifier
  public var addressHash: [UInt8]

  private static let hashBytes = 32

  public init(workspace: Identifier, address: String) {
    self.workspace = workspace
    addressHash = MailOutbox.hash(of: address)
  }

  /// Nil for a token that no key of ours has made.
  public init?(_ text: String, by secrets: SecretBox) {
    guard text.utf8.count <= 200, let bytes = Base64.url.decode(text.utf8),
      bytes.count == 16 + 2 * UnsubscribeToken.hashBytes
    else { return nil }
    let end = bytes.count - UnsubscribeToken.hashBytes
    let signed = Array(bytes[..<end])
    guard secrets.recognises(UnsubscribeToken.signedText(signed), by: Array(bytes[end...])) else {
      return nil
    }
    func word(_ at: Int) -> UInt64 { signed[at..<at + 8].reduce(0) { $0 << 8 | UInt64($1) } }
    workspace = Identifier(high: word(0), low: word(8))
    addressHash = Array(signed[16...])
  }

  public func text(by secrets: SecretBox) -> String {
    var signed: [UInt8] = []
    workspace.appendBytes(to: &signed)
    signed += addressHash
    return Base64.url.encode(signed + secrets.digest(of: UnsubscribeToken.signedText(signed)))
  }

  /// Codes for other purposes differ.
  private static func signedText(_ signed: [UInt8]) -> [UInt8] {
    Array("unsubscribe:".utf8) + signed
  }

  /// The path of the route, before the token.
  public static let path = "/api/v1/mail/unsubscribe/"
}
