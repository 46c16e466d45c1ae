/// The self-test of `tls.compact_records` at the start of the gateway. For each suite of TLS 1.3
/// two ends in memory shake hands, and the first records of both directions are sealed by
/// `TLSRecords` and by OpenSSL, and must be equal. It detects versions of OpenSSL that export other
/// secrets or counters.
import Primitives

public struct TLSSelfTestFailure: Error, CustomStringConvertible {
  public var description: String
}

public enum TLSSelfTest {
  /// Short, longer than a block, and two records long.
  private static let texts = [1, 100, TLSRecords.contentBytesMax + 1].map { count in
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
  }

  private static let suites = [
    "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256",
  ]

  /// - Parameter context: a server's with compact records.
  public static func run(_ context: TLSContext) throws(TLSSelfTestFailure) {
    for suite in suites { try run(context, suite: suite) }
  }

  /// - Parameter bend: modifies our bytes in a test, which must be detected.
  static func run(
    _ context: TLSContext, suite: String, bend: (inout [UInt8]) -> Void = { _ in }
  ) throws(TLSSelfTestFailure) {
    let pair = try Pair(context, suite: suite)
    guard let examined = pair.server.examined() else {
      throw failure(suite, "the handshake exported no secrets")
    }
    for text in texts {
      try compare(pair.server, examined.server, text, pair.workspace, suite, bend)
      try compare(pair.client, examined.client, text, pair.workspace, suite, bend)
    }
  }

  private static func failure(_ suite: String, _ what: String) -> TLSSelfTestFailure {
    TLSSelfTestFailure(
      description:
        "the self-test of tls.compact_records failed with \(suite): \(what). Set "
        + "tls.compact_records to false; OpenSSL then seals all records itself.")
  }

  private static func compare(
    _ core: TLSCore, _ records: TLSRecords, _ text: [UInt8], _ workspace: TLSWorkspace,
    _ suite: String, _ bend: (inout [UInt8]) -> Void
  ) throws(TLSSelfTestFailure) {
    // SAFETY: here and below, the array outlives the calls.
    let taken = unsafe text.withUnsafeBytes { unsafe core.seal($0, workspace) }
    let theirs = workspace.channel.output
    var ours: [UInt8] = []
    let count = unsafe text.withUnsafeBytes {
      unsafe records.seal($0, room: TLSSession.sealBytesMax, workspace.aead, output: &ours)
    }
    records.forget(workspace.aead)
    bend(&ours)
    guard taken == text.count, count == text.count, ours == theirs else {
      throw failure(suite, "a record of \(text.count) bytes differs from OpenSSL's")
    }
  }

  /// A server and a client in memory, after their handshake.
  private struct Pair {
    let server: TLSCore
    let client: TLSCore
    let workspace = TLSWorkspace()

    /// More than the flights of any handshake.
    private static let turnsMax = 8

    init(_ context: TLSContext, suite: String) throws(TLSSelfTestFailure) {
      server = TLSCore(context, isServer: true, isExamined: true)
      do throws(TLSLoadFailure) {
        client = TLSCore(
          try TLSContext(clientVerifying: false, suites: suite), isServer: false)
      } catch {
        throw failure(suite, error.description)
      }
      client.start(name: "localhost", nil, workspace)
      for _ in 0..<Pair.turnsMax {
        pass(from: client, to: server)
        pass(from: server, to: client)
      }
      guard server.stage == .library, client.stage == .library, server.version == .v13 else {
        throw failure(suite, "the handshake in memory failed")
      }
    }

    private func pass(from: TLSCore, to: TLSCore) {
      var buffer = [UInt8](repeating: 0, count: TLSRecords.recordBytesMax) + from.unsent
      var cursor = TLSCursor(next: TLSRecords.recordBytesMax, end: buffer.count)
      from.unsent = []
      var isGoing = cursor.next < cursor.end
      while isGoing {
        // SAFETY: the cursor is after the room for one record's plaintext, see `prepare`.
        let step = unsafe buffer.withUnsafeMutableBytes {
          unsafe to.open($0, &cursor, workspace)
        }
        switch step {
        case .plain, .established: continue
        case .needMoreBytes, .closed, .failed: isGoing = false
        }
      }
    }
  }
}
