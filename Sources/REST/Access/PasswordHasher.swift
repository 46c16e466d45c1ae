/// Checks and hashes passwords on threads of its own: scrypt is slow by design.
import Kernel
import OpenSSL

struct PasswordHasher: Sendable {
  let threads = WorkerThreads(
    name: "passwords", threads: APILimits.passwordThreads, waitingMax: APILimits.passwordsWaiting)
  /// For devices that have logged in before, so that a flood of guesses does not delay them.
  let knownThreads = WorkerThreads(
    name: "passwords", threads: APILimits.knownPasswordThreads,
    waitingMax: APILimits.passwordsWaiting)
  private let report: @Sendable (String) -> Void

  init(report: @escaping @Sendable (String) -> Void) { self.report = report }

  /// Whether the password matches the hash. Without a hash the result is false after the same time.
  ///
  /// - Parameter isKnown: the device has logged in to the account before.
  func verify(
    _ password: String, against hash: String?, isKnown: Bool = false
  ) async throws(Problem) -> Bool {
    try await derive(on: isKnown ? knownThreads : threads) { () throws(CryptoFault) in
      if let hash { return try Password.verify(password, against: hash) }
      try Password.verifyNothing(password)
      return false
    }
  }

  func hash(_ password: String) async throws(Problem) -> String {
    try await derive(on: threads) { () throws(CryptoFault) in try Password.hash(password) }
  }

  private func derive<Answer: Sendable>(
    on threads: WorkerThreads, _ work: @escaping @Sendable () throws(CryptoFault) -> Answer
  ) async throws(Problem) -> Answer {
    let result = await threads.run { () -> Result<Answer, CryptoFault> in
      do throws(CryptoFault) {
        return .success(try work())
      } catch {
        return .failure(error)
      }
    }
    guard let result else { throw .rateLimited(afterSeconds: 1, limit: "address") }
    switch result {
    case .success(let answer): return answer
    case .failure(let fault):
      report("a password could not be checked: \(fault)")
      throw .unavailable
    }
  }
}
