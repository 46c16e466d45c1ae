/// Every bound of the conversation core, with its unit. Each has a test that reaches it.
public enum Limits {
  // What a client may send.
  /// Bytes of a message's body (UTF-8).
  public static let bodyBytes = 16_384
  /// Bytes of a message's payload (JSON text).
  public static let payloadBytes = 8_192
  /// Bytes of one WebSocket message on the chat endpoint, all fragments together.
  public static let messageBytes = 65_536
  /// Fragments of one WebSocket message on the chat endpoint.
  public static let messageFragments = 128
  /// Bytes of the first message (`hello`).
  public static let helloBytes = 8_192
  /// Bytes of `ref` when it is a string.
  public static let referenceBytes = 32
  /// Bytes of a typing preview; longer ones are cut at a character.
  public static let previewBytes = 1_024
  /// Subscriptions of one connection.
  public static let subscriptions = 256
  /// Unacknowledged sends of one connection.
  public static let inFlight = 16
  /// Entries that `tail` or `history` may ask for.
  public static let pageEntries = 200
  /// Commands that cannot be read before a connection is closed with 4103.
  public static let badFrames = 16

  // Rates of one connection, as token buckets.
  /// Sends, a second and in a burst.
  public static let sendsPerSecond = 20
  public static let sendsBurst = 60
  /// All commands together, a second and in a burst.
  public static let commandsPerSecond = 100
  public static let commandsBurst = 400
  /// Bytes that come out of a compressed message and count as one command more: what costs a peer
  /// nothing on the wire costs the gateway its time.
  public static let inflatedBytesOfCommand = 4_096
  /// Commands over the rate before a connection is closed with 4103.
  public static let overRate = 500
  /// Entries of `tail` when a client names none.
  public static let tailDefault = 50
  /// Entries of one page of a backlog read from the database.
  public static let backlogPage = 100
  /// Bytes of bodies and payloads in one answer to `history`, or in a page of what another gateway
  /// committed: the entry that reaches them is the last one, the rest is asked for next.
  public static let historyBytes = 262_144
  /// Subscribe commands that may wait for one session to load.
  public static let waitingSubscribes = 4_096

  // The batch.
  public static let batchRecords = 512
  public static let batchBytes = 1_048_576
  /// Records that may wait on one loop for the next batches while one is in flight.
  public static let queuedRecords = 8_192
  /// Connections of other loops whose failed sends one loop remembers.
  public static let heldSenders = 16_384
  /// A record that has waited this long for the store is answered `unavailable`.
  public static let sendWaitMilliseconds: Int64 = 5_000

  /// Operators who look at one session, as others are told.
  public static let viewers = 16
  /// News of one iteration for those who work behind the scenes; what is beyond is found by their
  /// sweep.
  public static let newsItems = 65_536

  // Output.
  /// Above this many queued bytes ephemeral events are dropped for a connection.
  public static let outputSoftBytes = 262_144
  /// Above this many queued bytes a connection is closed with 4101.
  public static let outputHardBytes = 1_048_576
  /// Output older than this closes the connection with 4101.
  public static let outputAgeMilliseconds: Int64 = 30_000
  /// The next part of a backlog is sent only while less than this is queued.
  public static let backlogBytes = 65_536
  /// Output of one iteration that is copied into the loop's buffer rather than sent from its own.
  public static let copiedOutputBytes = 8_192
  /// Buffers for output that a loop keeps for the next iteration, in all.
  public static let spareOutputBytes = 8_388_608

  // Memory of one session.
  /// Encoded bytes of recent entries kept for live subscribers and short resumes.
  public static let recentBytes = 65_536
  /// Entries kept likewise.
  public static let recentEntries = 256

  /// Likewise of all sessions of one loop together, unless it is set otherwise.
  public static let recentLogsBytes = 134_217_728

  /// Sessions that are looked at for one that may leave memory.
  public static let evictionCandidates = 64

  // Time.
  /// After a failed send, later ones of the same connection and session fail too until the failed
  /// one comes again, but no longer than this.
  public static let suffixMilliseconds: Int64 = 10_000
  /// A row of the operators' lists is read and sent at most this often.
  public static let inboxIntervalMilliseconds: Int64 = 200
  public static let helloTimeoutMilliseconds: Int64 = 10_000
  public static let heartbeatIntervalMilliseconds: Int64 = 25_000
  public static let heartbeatTimeoutMilliseconds: Int64 = 10_000
  /// How long the peer's close frame is awaited before the socket is cut.
  public static let closeTimeoutMilliseconds: Int64 = 5_000
  /// Read and delivered marks are stored at most this often for one session and person.
  public static let markIntervalMilliseconds: Int64 = 1_000
  /// `token_expiring` comes this long before the token ends, and the connection ends this long
  /// after.
  public static let tokenWarningMilliseconds: Int64 = 60_000
  public static let tokenGraceMilliseconds: Int64 = 30_000
  /// The recent entries of a session without subscribers are forgotten after this long.
  public static let recentIdleMilliseconds: Int64 = 5_000
  /// A session without subscribers is forgotten after this long.
  public static let sessionIdleMilliseconds: Int64 = 60_000
}
