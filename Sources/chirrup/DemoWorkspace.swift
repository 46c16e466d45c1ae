/// The workspace of `serve --demo`, with one operator whose login the banner prints.
///
/// The password is derived from the database's signing key: it survives restarts, is the same on
/// every node, and is stored nowhere in clear text.
import Directory
import Kernel
import OpenSSL
import Postgres
import Primitives

struct DemoWorkspace {
  static let name = "demo"
  static let email = "demo@example.com"
  /// The workspace's settings, as JSON: the shop's name and the greeting of its visitors.
  static let settings = #"""
    {"name": "Tidewater Cycles", "greeting": {"title": "Hello. How can we help?",
    "text": "Ask about parts, orders and repairs. A person answers."}}
    """#

  var publicKey: String
  /// Nil if the password was changed.
  var password: String?

  /// - Parameter owner: fills a new workspace with `DemoContent`; nil: it stays empty.
  static func prepare(
    _ connection: BlockingConnection, owner: BlockingConnection?, signingKey: [UInt8]
  ) throws -> DemoWorkspace {
    let workspace =
      try connection.run(Workspace.named(name))
      ?? connection.run(
        Workspace.create(
          id: .random(), name: name, publicKey: "pk_" + SecureRandom.token(byteCount: 18),
          settings: settings))
      ?? connection.run(Workspace.named(name))
    guard let workspace else { throw CommandFailure("the database created no demo workspace") }
    let password = password(signingKey: signingKey)
    if let account = try connection.run(Operator.account(email: email, workspace: name)) {
      let isUnchanged =
        try account.passwordHash.map { try Password.verify(password, against: $0) } ?? false
      return DemoWorkspace(
        publicKey: workspace.publicKey, password: isUnchanged ? password : nil)
    }
    let made = try connection.run(
      Operator.create(
        id: .random(), email: email, name: "Mika", passwordHash: Password.hash(password),
        workspace: workspace.id, membership: "owner"))
    if made != nil, let owner { try DemoContent.create(in: workspace.id, owner) }
    return DemoWorkspace(publicKey: workspace.publicKey, password: password)
  }

  /// Twelve unambiguous letters and digits (no l, o, 0, 1): 60 bits of an HMAC-SHA256 with the key.
  static func password(signingKey: [UInt8]) -> String {
    let letters = Array("abcdefghijkmnpqrstuvwxyz23456789".utf8)
    // The first that the policy takes: its list of common passwords refuses a few random ones.
    var text = "demo password"
    while true {
      let code = HMACSHA256.code(for: Array(text.utf8), key: signingKey)
      let picked = code.prefix(12).map { letters[Int($0) % letters.count] }
      let password = stride(from: 0, to: 12, by: 4)
        .map { String(decoding: picked[$0..<$0 + 4], as: UTF8.self) }.joined(separator: "-")
      if PasswordPolicy.fault(password, own: [email, name]) == nil { return password }
      text += "+"
    }
  }
}
