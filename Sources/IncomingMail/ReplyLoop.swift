/// The state of the thread that reads the mailbox. A round logs in, stores what the folder has, and
/// moves each message once it is stored.
///
/// Messages are moved, and not marked as read: a person who looks into the mailbox marks them too,
/// and then they would never be stored. A round ends with its connection, so that new messages are
/// seen and an idle server is left alone.
import Channels
import Directory
import HTTPClient
import Kernel
import Mail
import MailParsing
import Postgres
import Primitives
public import Webhooks

public struct ReplyLoop: OutboxLoop, ~Copyable {
  /// Messages of one round; the next one follows at once.
  static let messagesMax = 50
  /// Of the message with its files.
  static let bytesMax = 25 << 20
  /// Messages whose failed attempts are counted.
  static let failuresMax = 1_000
  /// The pauses while the mailbox cannot be read.
  static let firstPauseMilliseconds: Int64 = 2_000
  static let lastPauseMilliseconds: Int64 = 120_000
  static let databasePauseMilliseconds: Int64 = 1_000
  /// The interval between two looks at the time.
  static let turnMilliseconds: Int64 = 1_000
  static let sweepMilliseconds: Int64 = 3_600_000
  /// The part of a lease after the pause and the time limit of one command. A gateway that takes
  /// longer is only joined by another one: what both store is stored once.
  static let leaseReserveMilliseconds: Int64 = 5_000

  /// A message of the folder.
  private struct Item {
    var number: UInt32
    var bytes: Int
  }

  private enum Stop: Error {
    /// The mailbox cannot be read now.
    case mailbox(reason: String)
    case database
    case ended
  }

  private let options: ReplyOptions
  private let address: MailFolderAddress
  private let judge: ReplyJudge
  private let parser = MailParser()
  private let lease: Identifier
  private let mailbox: [UInt8]
  private var folder: MailFolder
  private var database: OutboxConnection
  private var nextRound = Instant.zero
  private var nextSweep: Instant
  private var outage: Backoff
  /// The letters of the last reason that was reported; empty: the mailbox is read.
  private var reported = ""
  /// Failed attempts to fetch messages, by their numbers.
  private var failures: [UInt32: Int] = [:]
  public private(set) var metrics = ReplyMetrics()

  /// Nil: there is no mailbox.
  public init?(_ options: ReplyOptions) {
    guard let address = options.folder, let replies = options.replies else { return nil }
    self.options = options
    self.address = address
    folder = MailFolder(address)
    judge = ReplyJudge(
      replies: replies, from: options.from, verdictServer: options.verdictServer,
      secrets: options.secrets)
    let seed = Random.uint64()
    lease = .random()
    mailbox = MailKey.of(mailbox: address.url, user: address.user)
    // After a crash of PostgreSQL nothing that was moved may be missing.
    database = OutboxConnection(
      "mailbox", url: options.databaseURL, isDurable: true, report: options.report)
    outage = Backoff(
      firstMilliseconds: ReplyLoop.firstPauseMilliseconds,
      lastMilliseconds: ReplyLoop.lastPauseMilliseconds, seed: seed)
    nextSweep = SystemClock.now().advanced(byMilliseconds: 5_000 + Int64(seed % 20_000))
  }

  /// A message is read, stored and moved within a turn.
  public var isBusy: Bool { false }

  /// The address of PostgreSQL alone changes.
  public mutating func use(_ options: ReplyOptions) { database.use(url: options.databaseURL) }

  /// Runs a round if it is time, and waits until the next turn.
  public mutating func runOnce(wakeDescriptor: Int32, goesOn: () -> Bool) {
    takeTurn(goesOn)
    let pause = min(nextRound, database.nextAttempt).milliseconds(since: SystemClock.now())
    folder.idle(
      milliseconds: Int32(max(10, min(ReplyLoop.turnMilliseconds, pause))), wakeup: wakeDescriptor)
  }

  private mutating func takeTurn(_ goesOn: () -> Bool) {
    let now = SystemClock.now()
    database.open(now)
    guard database.isOpen, now >= nextRound else { return }
    if now >= nextSweep {
      nextSweep = now.advanced(byMilliseconds: ReplyLoop.sweepMilliseconds)
      for query in MailReceived.sweep { _ = database.run(query) }
    }
    let pause = Int64(options.pollSeconds) * 1_000
    do throws(Stop) {
      let isWhole = try round(goesOn)
      nextRound =
        isWhole ? SystemClock.now().advanced(byMilliseconds: pause) : SystemClock.now()
      outage.reset()
      if !reported.isEmpty { options.report("mail: the mailbox is read again") }
      reported = ""
    } catch {
      switch error {
      case .ended: break
      case .database:
        nextRound = SystemClock.now().advanced(
          byMilliseconds: ReplyLoop.databasePauseMilliseconds)
      case .mailbox(let reason):
        metrics.roundsFailed += 1
        nextRound = outage.next(after: SystemClock.now())
        // Some servers add times to their reason: letters alone are compared.
        let words = reason.filter(\.isLetter)
        if words != reported { options.report("mail: the mailbox cannot be read: \(reason)") }
        reported = words
      }
    }
  }

  /// False if there may be more messages.
  private mutating func round(_ goesOn: () -> Bool) throws(Stop) -> Bool {
    guard try hasLease() else { return true }
    defer { folder.disconnect() }
    let items = try list(goesOn)
    for item in items {
      guard goesOn() else { throw .ended }
      guard try hasLease() else { return true }
      try take(item, goesOn)
    }
    return items.count < ReplyLoop.messagesMax
  }

  /// Takes the lease, or makes it last longer; false: another gateway has it.
  private mutating func hasLease() throws(Stop) -> Bool {
    let milliseconds =
      Int64(options.pollSeconds) * 1_000 + Int64(address.milliseconds)
      + ReplyLoop.leaseReserveMilliseconds
    guard
      let rows = database.run(
        MailReceived.lease(mailbox, by: lease, milliseconds: milliseconds))
    else { throw .database }
    return !rows.isEmpty
  }

  /// Gives the lease back, so that another gateway need not wait for its end.
  public mutating func release() { _ = database.run(MailReceived.release(lease)) }

  public mutating func finish() {}

  // MARK: The folder

  private mutating func list(_ goesOn: () -> Bool) throws(Stop) -> [Item] {
    let (numbers, sizes): ([UInt32], [String])
    do throws(MailFolderFault) {
      let failures = failures
      // A message that fails again and again does not keep back the others.
      numbers = Array(
        try folder.numbers(of: MailFolder.waiting, goesOn: goesOn)
          .sorted { (failures[$0, default: 0], $0) < (failures[$1, default: 0], $1) }
          .prefix(ReplyLoop.messagesMax))
      if numbers.isEmpty { return [] }
      let set = numbers.map { String($0) }.joined(separator: ",")
      sizes = try folder.run("UID FETCH \(set) (UID rfc822.size)", goesOn: goesOn)
    } catch {
      throw ReplyLoop.stop(error)
    }
    var bytes: [UInt32: Int] = [:]
    for line in sizes {
      guard let number = ReplyLoop.value("uid", in: line).flatMap({ UInt32($0) }) else { continue }
      bytes[number] = ReplyLoop.value("rfc822.size", in: line).flatMap { Int($0) }
    }
    return numbers.compactMap { number in
      bytes[number].map { Item(number: number, bytes: $0) }
    }
  }

  /// The number behind a name in lower case, as in `* 1 FETCH (UID 7 rfc822.size 2048)`.
  static func value(_ name: String, in line: String) -> Substring? {
    let words = line.split { $0 == " " || $0 == "(" || $0 == ")" }
    guard let place = words.firstIndex(where: { $0.lowercased() == name }), place + 1 < words.count
    else { return nil }
    return words[place + 1]
  }

  private static func stop(_ fault: MailFolderFault) -> Stop {
    switch fault {
    case .stopped: .ended
    case .unreachable(let reason), .refused(let reason): .mailbox(reason: reason)
    case .gone: .mailbox(reason: "a message is gone")
    case .tooLarge: .mailbox(reason: "the server's answer is too long")
    }
  }

  // MARK: A message

  private mutating func take(_ item: Item, _ goesOn: () -> Bool) throws(Stop) {
    let place = MailKey.of(
      folder: address.url, validity: folder.validity ?? "", number: item.number)
    var judged = ReplyJudge.Judged(key: place, refusal: .tooLarge)
    if item.bytes <= ReplyLoop.bytesMax {
      do throws(MailFolderFault) {
        let bytes = try folder.message(
          item.number, bytesMax: ReplyLoop.bytesMax, goesOn: goesOn)
        judged = try self.judged(bytes, place)
      } catch {
        switch error {
        case .gone: return
        // The server has announced another size.
        case .tooLarge: break
        default:
          if failures.count >= ReplyLoop.failuresMax { failures.removeAll() }
          failures[item.number, default: 0] += 1
          throw ReplyLoop.stop(error)
        }
      }
    }
    try store(judged)
    try move(item, goesOn)
    failures[item.number] = nil
  }

  private mutating func judged(
    _ bytes: [UInt8], _ place: [UInt8]
  ) throws(MailFolderFault) -> ReplyJudge.Judged {
    let parsed: ParsedMail?
    do throws(MailParsingFault) { parsed = try parser.parse(bytes) } catch {
      // Of this system, and not of the message: it waits in the mailbox.
      throw .unreachable(reason: error.description)
    }
    guard let parsed else { return ReplyJudge.Judged(key: place, refusal: .unreadable) }
    var judged = judge.judge(parsed, place: place, &database)
    try store(filesOf: parsed, in: &judged)
    return judged
  }

  /// Stores the files before the reply that names them.
  private mutating func store(
    filesOf mail: ParsedMail, in judged: inout ReplyJudge.Judged
  ) throws(MailFolderFault) {
    guard judged.reply != nil, let origin = judged.entry.origin,
      !mail.files.isEmpty || mail.omitted.count > 0
    else { return }
    do throws(IncomingFiles.Fault) {
      let kept = try ReplyFiles(files: options.attachments).store(
        mail, of: judged.entry.key, for: origin, &database)
      judged.reply?.take(kept.ids, omitted: kept.omitted)
    } catch {
      switch error {
      case .database: judged.isUndecided = true
      case .storage(let reason): throw .unreachable(reason: reason)
      }
    }
  }

  private mutating func store(_ judged: ReplyJudge.Judged) throws(Stop) {
    guard !judged.isUndecided,
      let added = database.run(MailReceived.add(judge.entry(of: judged)))
    else { throw .database }
    guard !added.isEmpty else { return }
    metrics.received += 1
    if let refusal = added.text(0, 0).flatMap({ MailRefusal(rawValue: $0) }) {
      metrics.refused[refusal, default: 0] += 1
    }
  }

  /// Moves a message out of the folder (RFC 6851), or copies and marks it where the server cannot
  /// do that. If the gateway ends in between, the message is found again and known.
  private mutating func move(_ item: Item, _ goesOn: () -> Bool) throws(Stop) {
    let target = "\"\(options.processedFolder)\""
    do throws(MailFolderFault) {
      let move = "UID MOVE \(item.number) \(target)"
      if try isDone(move, goesOn) { return }
      // The folder may be missing.
      if try isDone("CREATE \(target)", goesOn), try isDone(move, goesOn) { return }
      _ = try folder.run("UID COPY \(item.number) \(target)", goesOn: goesOn)
      _ = try folder.run(
        "UID STORE \(item.number) +FLAGS.SILENT (\\Deleted)", goesOn: goesOn)
    } catch {
      throw ReplyLoop.stop(error)
    }
  }

  /// False: the server refuses the command.
  private mutating func isDone(
    _ command: String, _ goesOn: () -> Bool
  ) throws(MailFolderFault) -> Bool {
    do throws(MailFolderFault) {
      _ = try folder.run(command, goesOn: goesOn)
      return true
    } catch {
      guard case .refused = error else { throw error }
      return false
    }
  }
}
