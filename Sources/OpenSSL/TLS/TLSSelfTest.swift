/// Before the gateway seals records itself (`tls.compact_records`), it shows that it does so as
/// OpenSSL does: for each suite of TLS 1.3 two ends in memory shake hands, and the first records of
/// either direction are sealed by both and must be the same bytes. Secrets, keys, nonces and the
/// number of the first record follow from what OpenSSL tells; another version of OpenSSL may tell
/// something else.
import Primitives

public struct TLSSelfTestFailure: Error, CustomStringConvertible {
  public var description: String
}

public enum TLSSelfTest {
  /// Short, longer than a block, and of two records.
  private static let texts = [1, 100, TLSRecords.contentBytesMax + 1].map { count in
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
  }

  private static let suites = [
    "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256",
  ]

  /// - Parameter context: of a server with compact records.
  public static func run(_ context: TLSContext) throws(TLSSelfTestFailure) {
    for suite in suites { try run(context, suite: suite) }
  }

  /// - Parameter bend: what a test does to our bytes, to see that it is noticed.
  static func run(
    _ context: TLSContext, suite: String, bend: (inout [UInt8]) -> Void = { _ in }
  ) throws(TLSSelfTestFailure) {
    let pair = try Pair(context, suite: suite)
    guard let examined = pair.server.examined() else {
      throw failure(suite, "no secrets came from the handshake")
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
    // SAFETY: here and below the array outlives the calls.
    let taken = unsafe text.withUnsafeBytes { unsafe core.seal($0, workspace) }
    let theirs = workspace.channel.output
    var ours: [UInt8] = []
    let count = unsafe text.withUnsafeBytes {
      unsafe records.seal($0, room: TLSSession.sealBytesMax, workspace.aead, output: &ours)
    }
    records.forget(workspace.aead)
    bend(&ours)
    guard taken == text.count, count == text.count, ours == theirs else {
      throw failure(suite, "a record of \(text.count) bytes is not the one that OpenSSL makes")
    }
  }

  /// A server and a client that have shaken hands in memory.
  private struct Pair {
    let server: TLSCore
    let client: TLSCore
    let workspace = TLSWorkspace()

    /// More than any handshake has flights.
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
        throw failure(suite, "two ends in memory cannot shake hands")
      }
    }

    private func pass(from: TLSCore, to: TLSCore) {
      var buffer = [UInt8](repeating: 0, count: TLSRecords.recordBytesMax) + from.unsent
      var cursor = TLSCursor(next: TLSRecords.recordBytesMax, end: buffer.count)
      from.unsent = []
      var isGoing = cursor.next < cursor.end
      while isGoing {
        // SAFETY: the cursor lies behind the room for one record's plaintext, see `prepare`.
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
