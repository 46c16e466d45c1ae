/// The first step of a login with a second factor, as the client carries it to the second step: it
/// states that the password was right. Encrypted and signed by the gateway (AES-GCM), so that
/// nothing is stored. It is no secret of the account: without a code it gives no access.
import Directory
import OpenSSL
import Primitives

struct LoginChallenge {
  /// The time to enter the code.
  static let seconds: Int64 = 300
  private static let place = "login challenge"

  var account: Identifier
  var workspace: Identifier
  /// See `Operator.credential`: a change of the password in between voids the challenge.
  var credential: String

  func sealed(_ secrets: SecretBox, now: WallTime) -> String {
    let expiry = now.advanced(bySeconds: LoginChallenge.seconds).microseconds
    let text = "\(account) \(workspace) \(credential) \(expiry)"
    let sealed = secrets.seal(Array(text.utf8), place: LoginChallenge.place)
    return "\(sealed.keyID).\(Base64.url.encode(sealed.bytes))"
  }

  init(account: Identifier, workspace: Identifier, credential: String) {
    self.account = account
    self.workspace = workspace
    self.credential = credential
  }

  /// Nil if it is not one of this gateway's, or has expired.
  init?(_ text: String, _ secrets: SecretBox, now: WallTime) {
    let parts = text.split(separator: ".")
    guard parts.count == 2, let bytes = Base64.url.decode(parts[1].utf8),
      let opened = secrets.open(
        SecretBox.Sealed(keyID: String(parts[0]), bytes: bytes), place: LoginChallenge.place),
      let fields = String(validating: opened, as: UTF8.self)?.split(separator: " "),
      fields.count == 4, let account = Identifier(String(fields[0])),
      let workspace = Identifier(String(fields[1])), let expiry = Int64(fields[3]),
      expiry > now.microseconds
    else { return nil }
    self.init(account: account, workspace: workspace, credential: String(fields[2]))
  }
}
