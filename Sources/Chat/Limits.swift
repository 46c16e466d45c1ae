/// Every limit of the chat, with its unit. Each has a test that reaches it.
public enum Limits {
  // Input of a client.
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
  /// Bytes of `ref` when it is a string: a UUID in its canonical form (36 bytes) fits.
  public static let referenceBytes = 64
  /// Bytes of a typing preview; longer ones are cut at the end of a character.
  public static let previewBytes = 1_024
  /// Subscriptions of one connection.
  public static let subscriptions = 256
  /// Unacknowledged sends of one connection.
  public static let inFlight = 16
  /// Entries in one `tail` or `history`.
  public static let pageEntries = 200
  /// Unreadable commands before a connection is closed with 4103.
  public static let badFrames = 16

  // Rates of one connection, as token buckets.
  /// Sends per second, and in a burst.
  public static let sendsPerSecond = 20
  public static let sendsBurst = 60
  /// Commands of all types per second, and in a burst.
  public static let commandsPerSecond = 100
  public static let commandsBurst = 400
  /// Inflated bytes that count as one more command: compressed input is cheap for the peer, not for
  /// the gateway.
  public static let inflatedBytesOfCommand = 4_096
  /// Commands over the rate before a connection is closed with 4103.
  public static let overRate = 500
  /// Entries of a `subscribe` without `tail`.
  public static let tailDefault = 50
  /// Entries in one page of a backlog.
  public static let backlogPage = 100
  /// Bytes of bodies and payloads in one page of history, or of entries that another gateway
  /// committed. The entry that reaches the limit is the last one of its page.
  public static let historyBytes = 262_144
  /// Subscribe commands that may wait for one session to load.
  public static let waitingSubscribes = 4_096

  // The batch.
  public static let batchRecords = 512
  public static let batchBytes = 1_048_576
  /// Records that wait on one loop while a batch is in flight.
  public static let queuedRecords = 8_192
  /// Failed sends of other loops' connections that one loop holds.
  public static let heldSenders = 16_384
  /// A record that has waited this long for the store is refused as `unavailable`.
  public static let sendWaitMilliseconds: Int64 = 5_000

  /// Viewers of one session that are known to others.
  public static let viewers = 16
  /// Sessions of one loop whose presence is exchanged with other gateways.
  public static let watchedPresences = 4_096
  /// Gateways whose presence in one session is known.
  public static let presenceGateways = 32
  /// Typing and presence for other gateways that wait on one loop; later ones are dropped.
  public static let peerSignals = 1_024
  /// Operators of a loop whose departure is stored at once; that of others shows after 15 s.
  public static let departedOperators = 1_024
  /// Operators of a loop whose absence is looked up for the visitors of their conversations.
  public static let heldOperators = 512
  /// News of one iteration for the background jobs. Their sweep handles what exceeds the limit.
  public static let newsItems = 65_536

  // Output.
  /// Waiting bytes of a connection above which it gets no ephemeral events.
  public static let outputSoftBytes = 262_144
  /// Waiting bytes above which a connection is closed with 4101.
  public static let outputHardBytes = 1_048_576
  /// A connection whose socket has taken nothing for this long is closed with 4101.
  public static let outputAgeMilliseconds: Int64 = 30_000
  /// Waiting bytes below which the next part of a backlog is sent.
  public static let backlogBytes = 65_536
  /// Bytes of one iteration's output that are copied into the loop's buffer; larger output is sent
  /// from its own.
  public static let copiedOutputBytes = 8_192
  /// Bytes of unused output buffers that a loop keeps.
  public static let spareOutputBytes = 8_388_608

  // Memory of one session.
  /// Encoded bytes of recent entries, for live subscribers and short resumes.
  public static let recentBytes = 65_536
  /// Recent entries.
  public static let recentEntries = 256

  /// Bytes of recent entries of all sessions of one loop; the default of a setting.
  public static let recentLogsBytes = 134_217_728

  /// Sessions considered for one eviction.
  public static let evictionCandidates = 64

  // Time.
  /// After a failed send, later ones of the same connection and session fail too until the failed
  /// one is repeated, but at most for this long.
  public static let suffixMilliseconds: Int64 = 10_000
  /// The least time between two reads of an inbox row.
  public static let inboxIntervalMilliseconds: Int64 = 200
  public static let helloTimeoutMilliseconds: Int64 = 10_000
  public static let heartbeatIntervalMilliseconds: Int64 = 25_000
  public static let heartbeatTimeoutMilliseconds: Int64 = 10_000
  /// The wait for the peer's close frame.
  public static let closeTimeoutMilliseconds: Int64 = 5_000
  /// The least time between two writes of a session's marks.
  public static let markIntervalMilliseconds: Int64 = 1_000
  /// `token_expiring` is sent this long before the token expires, and the connection is closed the
  /// grace period after.
  public static let tokenWarningMilliseconds: Int64 = 60_000
  public static let tokenGraceMilliseconds: Int64 = 30_000
  /// Between two queries for the presence of a session on other gateways.
  public static let presenceQueryMilliseconds: Int64 = 5_000
  /// The presence of a gateway that sends nothing about a session expires after this long.
  public static let presenceSilenceMilliseconds: Int64 = 15_000
  /// A session without subscribers loses its recent entries after this long.
  public static let recentIdleMilliseconds: Int64 = 5_000
  /// A session without subscribers and following loops leaves memory after this long.
  public static let sessionIdleMilliseconds: Int64 = 60_000
}
