/// Logs that identity secrets of a workspace cannot be decrypted here: when it begins, when other
/// secrets are concerned, and when it ends. Until then their visitors are refused with 403, which
/// looks like a mistake of the host site.
import Directory
import Primitives
import Synchronization

final class UnreadableSecrets: Sendable {
  /// Workspaces that are remembered; the state of further ones is not logged.
  static let workspacesMax = 1_024

  private let known = Mutex<[Identifier: Set<Identifier>]>([:])
  private let report: @Sendable (String) -> Void

  init(report: @escaping @Sendable (String) -> Void) { self.report = report }

  /// - Parameter ids: the accepted secrets of the workspace that cannot be decrypted.
  func note(_ ids: [Identifier], of workspace: Identifier) {
    let ids = Set(ids)
    let before = known.withLock { known -> Set<Identifier>? in
      let before = known[workspace] ?? []
      guard before != ids, !before.isEmpty || known.count < UnreadableSecrets.workspacesMax else {
        return nil
      }
      known[workspace] = ids.isEmpty ? nil : ids
      return before
    }
    guard let before else { return }
    guard !ids.isEmpty else {
      report("the identity secrets of the workspace \(workspace) can be decrypted again")
      return
    }
    let list = ids.map(\.description).sorted().joined(separator: ", ")
    report(
      """
      \(before.isEmpty ? "" : "now other ")identity secrets of the workspace \(workspace) are \
      encrypted with a credentials_key that this gateway does not have, and visitors whose \
      identity they sign are refused: \(list). Give this gateway the same credentials_key as the \
      others, or replace the secrets with “chirrup identity rotate”
      """)
  }
}
