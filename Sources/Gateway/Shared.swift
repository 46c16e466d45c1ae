import API
import Kernel
import Logging
import Primitives
import Settings
import Synchronization
import Tokens

/// What all loops look at: immutable after the start, except the board on which each loop posts its
/// figures.
final class Shared: Sendable {
  let settings: Settings
  let loopCount: Int
  let mailboxes: [Mailbox]
  let executors: [LoopExecutor]
  let assets: Assets
  let tokens: TokenAuthority
  let api: API
  let origins: Origins
  let admission: Admission
  let board: Board
  let databaseURL: String
  let logger: Logger

  init(_ options: GatewayOptions, tokens: TokenAuthority) throws(Errno) {
    settings = options.settings
    loopCount = options.loopCount
    var mailboxes: [Mailbox] = []
    for _ in 0..<loopCount { mailboxes.append(try Mailbox()) }
    self.mailboxes = mailboxes
    executors = mailboxes.map { LoopExecutor(mailbox: $0) }
    assets = Assets(values: options.pageValues)
    self.tokens = tokens
    let services = LoopServices(mailboxes: mailboxes)
    var apiOptions = APIOptions()
    apiOptions.publicURL = settings.publicURL
    apiOptions.visitorTokenSeconds = settings.visitorTokenSeconds
    apiOptions.operatorTokenSeconds = settings.operatorTokenSeconds
    let logger = options.logger
    apiOptions.report = { logger.error("\($0)") }
    api = API(database: services, sessions: services, tokens: tokens, options: apiOptions)
    origins = Origins(allowed: settings.allowedOrigins)
    admission = Admission(
      connectionsMax: settings.connectionsMax,
      perAddressMax: settings.connectionsPerAddressMax)
    board = Board(loopCount: loopCount)
    databaseURL = options.databaseURL
    self.logger = logger
  }
}

/// How many sockets there are, in all and from each address, over all loops. Addresses are counted
/// only where a limit is set.
final class Admission: Sendable {
  enum Verdict { case admitted, full, tooManyFromAddress }

  private let connectionsMax: Int
  private let perAddressMax: Int
  private let total = Atomic<Int>(0)
  private let counts = Mutex<[IPAddress: Int]>([:])

  init(connectionsMax: Int, perAddressMax: Int) {
    self.connectionsMax = connectionsMax
    self.perAddressMax = perAddressMax
  }

  /// Counts a socket, or refuses it.
  func enter(_ address: IPAddress) -> Verdict {
    let count = total.add(1, ordering: .relaxed).newValue
    guard count <= connectionsMax else {
      total.subtract(1, ordering: .relaxed)
      return .full
    }
    guard perAddressMax == 0 || countAddress(address.limitKey) else {
      total.subtract(1, ordering: .relaxed)
      return .tooManyFromAddress
    }
    return .admitted
  }

  private func countAddress(_ key: IPAddress) -> Bool {
    counts.withLock { counts in
      let count = counts[key] ?? 0
      guard count < perAddressMax else { return false }
      counts[key] = count + 1
      return true
    }
  }

  func leave(_ address: IPAddress) {
    total.subtract(1, ordering: .relaxed)
    guard perAddressMax > 0 else { return }
    let key = address.limitKey
    counts.withLock { counts in
      let count = (counts[key] ?? 1) - 1
      counts[key] = count == 0 ? nil : count
    }
  }
}

/// Which pages may open a socket: an exact list, or `*`. Browsers send the Origin (RFC 6454); other
/// clients need not, and prove themselves by their token.
struct Origins: Sendable {
  private let allowsAll: Bool
  private let allowed: Set<String>

  init(allowed: [String]) {
    allowsAll = allowed.contains("*")
    self.allowed = Set(allowed.map { $0.lowercased() })
  }

  /// `host` is the request's own Host: pages of the gateway itself are always at home.
  func admits(_ origins: [String], host: String?) -> Bool {
    guard let origin = origins.first?.lowercased() else { return true }
    guard origins.count == 1 else { return false }
    if allowsAll { return true }
    if let host = host?.lowercased(), origin == "http://\(host)" || origin == "https://\(host)" {
      return true
    }
    return allowed.contains(origin)
  }
}
