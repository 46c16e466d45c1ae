/// Checks the second factor of a login: a code of the app, or a recovery code. Each is accepted
/// once; the caller limits the attempts.
import Directory
import OpenSSL
import Primitives

extension API {
  enum Factor: String, Sendable {
    case code
    case recoveryCode = "recovery_code"
    case passkey
    /// The workspace trusts its identity provider to check one.
    case provider
  }

  /// The kind of the code, which is now used up; nil if it is wrong or was used before.
  func useCode(
    _ text: String, of account: Identifier, workspace: Identifier, now: WallTime
  ) async throws(Problem) -> Factor? {
    let code = RecoveryCode.normalForm(text)
    let state = try await database.run(SecondFactor.state(of: account, now: now))
    if code.utf8.count == TimeCode.digits {
      guard let sealed = state.secret else { return nil }
      let secret = try opened(sealed, of: account)
      guard let step = TimeCode.step(of: code, secret: secret, at: now) else { return nil }
      return try await database.run(SecondFactor.use(step: step, of: account)) ? .code : nil
    }
    let text = SecondFactor.recoveryText(code, of: account)
    let known = state.recoveryDigests.first { options.secrets.recognises(text, by: $0) }
    guard let known else { return nil }
    let isUsed = try await database.run(
      SecondFactor.useRecoveryCode(known, of: account, workspace: workspace, now: now))
    return isUsed ? .recoveryCode : nil
  }

  /// The secret of an app.
  func opened(
    _ sealed: SecretBox.Sealed, of account: Identifier
  ) throws(Problem) -> [UInt8] {
    let secret = options.secrets.open(sealed, place: SecondFactor.place(of: account))
    guard let secret else {
      options.report(
        "the second factor of operator \(account) cannot be read: its key (\(sealed.keyID)) is not "
          + "in credentials_key. Add the key, or run: chirrup operator reset-second-factor")
      throw .unreadableFactor
    }
    return secret
  }
}

enum RecoveryCode {
  /// 80 random bits.
  private static let byteCount = 10

  /// In groups of four: `ABCD-EFGH-IJKL-MNOP`.
  static func random() -> String {
    let text = Array(Base32.encode(SecureRandom.bytes(byteCount)))
    return stride(from: 0, to: text.count, by: 4)
      .map { String(text[$0..<min($0 + 4, text.count)]) }.joined(separator: "-")
  }

  /// Without the separators that people type, in capital letters.
  static func normalForm(_ text: String) -> String {
    let bytes = text.utf8.prefix(APILimits.codeBytes).filter {
      $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "-")
    }
    return String(decoding: bytes, as: UTF8.self).uppercased()
  }
}

extension Problem {
  static let unreadableFactor = Problem(
    status: 503, type: "second_factor_unreadable", title: "Second factor unreadable",
    detail: "The gateway cannot read the second factor of this account: its key is not configured. "
      + "Ask an administrator of the server."
  ).retry(afterSeconds: 60)

  static let wrongCode = Problem(
    status: 401, type: "wrong_code", title: "Wrong code",
    detail: "The code is wrong, has expired or was used before. Enter the current one, or a "
      + "recovery code.",
    headers: unauthenticated.headers)

  static let challengeExpired = Problem(
    status: 401, type: "challenge_expired", title: "Log in again",
    detail: "The code was not entered in time. Log in again with the password.",
    headers: unauthenticated.headers)
}
