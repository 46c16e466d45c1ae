/// Limits how often passwords are guessed, without locking the owner of an account out.
///
/// Only failures count: an attempt is counted before the password is checked, so that simultaneous
/// ones cannot exceed the limit, and uncounted if the password was right. A device that has logged
/// in to the account before has an allowance of its own (`KnownDevices`). All other devices share
/// three: of their address, of their address for the account, and of all strangers for the account.
/// The last one bounds guesses from many addresses; while it is used up, known devices log in.
import Primitives

/// An attempt to log in.
struct LoginAttempt: Sendable {
  enum Device: Sendable {
    case stranger(address: String)
    /// By the id of `KnownDevices`.
    case known(String)
    /// The caller is logged in already.
    case member
  }

  /// The account's id, or the entered address if there is no account.
  var account: String
  var device: Device
}

struct LoginLimits: ~Copyable, Sendable {
  private let byAddress: RateLimiter
  private let byAccount: RateLimiter
  private let byStrangers: RateLimiter
  /// Codes of the first setup.
  let setupTries: RateLimiter
  /// Requests for a new password.
  let passwordLinks: RateLimiter
  /// Limits the log's lines about refused attempts.
  let refusals = LastSeen()

  init(_ rates: APIOptions.Rates) {
    byAddress = RateLimiter(rates.loginsByAddress, limit: "address")
    byAccount = RateLimiter(rates.loginsByAccount, limit: "account")
    byStrangers = RateLimiter(rates.loginsByStrangers, limit: "account")
    setupTries = RateLimiter(rates.setupTries, limit: "address")
    passwordLinks = RateLimiter(rates.passwordLinks, limit: "address")
  }

  /// Counts the attempt as a failure; throws 429 if it exceeds a limit.
  func begin(_ attempt: LoginAttempt, _ now: WallTime) throws(Problem) -> LoginAttempt {
    guard case .stranger(let address) = attempt.device else {
      try byAccount.take(pair(attempt), now)
      return attempt
    }
    try byAddress.take(address, now)
    do throws(Problem) {
      try byAccount.take(pair(attempt), now)
      do throws(Problem) {
        try byStrangers.take(attempt.account, now)
      } catch {
        byAccount.giveBack(pair(attempt))
        throw error.butKnownDevicesMay
      }
    } catch {
      byAddress.giveBack(address)
      throw error
    }
    return attempt
  }

  /// The password was right.
  func succeed(_ attempt: LoginAttempt) {
    byAccount.giveBack(pair(attempt))
    guard case .stranger(let address) = attempt.device else { return }
    byAddress.giveBack(address)
    byStrangers.giveBack(attempt.account)
  }

  private func pair(_ attempt: LoginAttempt) -> String {
    switch attempt.device {
    case .stranger(let address): "\(attempt.account) from \(address)"
    case .known(let device): "\(attempt.account) on \(device)"
    case .member: "\(attempt.account) logged in"
    }
  }
}

extension Problem {
  fileprivate var butKnownDevicesMay: Problem {
    var problem = self
    problem.detail =
      "Too many logins to this account have failed on devices that never logged in to it. Use a "
      + "device on which you have logged in before, or try again later."
    return problem
  }
}
