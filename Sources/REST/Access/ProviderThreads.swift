/// Runs requests to identity providers on threads of their own: they wait for servers that tenants
/// have chosen. Few of one workspace run at once, so that a provider that does not answer delays
/// its own workspace only.
import Kernel
import OpenID
import Primitives
import Synchronization

final class ProviderThreads: Sendable {
  /// Requests of all workspaces, and of one.
  static let threads = 8
  static let waitingMax = 64
  static let perWorkspace = 4

  let client: ProviderClient
  private let workers = WorkerThreads(
    name: "providers", threads: threads, waitingMax: waitingMax)
  private let running = Mutex<[Identifier: Int]>([:])

  init(_ client: ProviderClient) { self.client = client }

  func run<Answer: Sendable, Fault: Error>(
    for workspace: Identifier,
    _ work: @escaping @Sendable (ProviderClient) throws(Fault) -> Answer
  ) async throws(Problem) -> Result<Answer, Fault> {
    guard enter(workspace) else { throw .providersBusy }
    defer { leave(workspace) }
    let client = client
    let result = await workers.run { () -> Result<Answer, Fault> in
      do throws(Fault) {
        return .success(try work(client))
      } catch {
        return .failure(error)
      }
    }
    guard let result else { throw .providersBusy }
    return result
  }

  private func enter(_ workspace: Identifier) -> Bool {
    running.withLock { running in
      let count = running[workspace] ?? 0
      guard count < ProviderThreads.perWorkspace else { return false }
      running[workspace] = count + 1
      return true
    }
  }

  private func leave(_ workspace: Identifier) {
    running.withLock { running in
      let count = running[workspace] ?? 0
      running[workspace] = count > 1 ? count - 1 : nil
    }
  }
}

extension Problem {
  static let providersBusy = Problem(
    status: 503, type: "too_busy", title: "Too busy",
    detail: "Too many sign-ins wait for identity providers. Try again in a few seconds.",
    headers: [("Retry-After", "5")])
}
