/// The credentials with which a gateway talks to platforms.
import Directory
import Postgres
import Primitives
import Webhooks

enum ChannelSecret {
  static let unreadableReason = "The credential cannot be decrypted here: its key is missing."

  case secret([UInt8])
  case unreadable

  /// Those that send, by workspace and channel; nil if PostgreSQL is unavailable.
  static func all(
    of workspaces: [Identifier], by box: SecretBox, _ database: inout OutboxConnection
  ) -> [Identifier: [String: ChannelSecret]]? {
    guard !workspaces.isEmpty else { return [:] }
    guard let rows = database.run(ChannelOutbox.credentials(of: Array(Set(workspaces)))) else {
      return nil
    }
    var secrets: [Identifier: [String: ChannelSecret]] = [:]
    for row in 0..<rows.count {
      guard let workspace = rows.uuid(row, 0), let provider = rows.text(row, 1),
        let channel = Channels.named(provider), rows.text(row, 2) == channel.sendingCredential,
        let key = rows.text(row, 3), let bytes = rows.bytes(row, 4)
      else { continue }
      let place = Credentials.place(provider, channel.sendingCredential, in: workspace)
      let opened = box.open(SecretBox.Sealed(keyID: key, bytes: bytes), place: place)
      secrets[workspace, default: [:]][provider] = opened.map { .secret($0) } ?? .unreadable
    }
    return secrets
  }
}
