import Kernel
import Primitives
import Settings
import Synchronization

/// Limits the number and the rate of connections: in all, and of one address, visitor or workspace.
/// All loops share it. Its locks are taken when a connection opens, says hello and closes, never
/// for a message.
final class Admission: Sendable {
  /// Sockets of `admin_listen`. They have places of their own, so that metrics and readiness of a
  /// full gateway can be read.
  static let adminSocketsMax = 32

  enum ConnectionDecision: Equatable {
    case admitted
    /// The gateway has as many connections as it may have.
    case full
    case tooManyFromAddress
    /// - Parameter seconds: time after which a connection is admitted again.
    case tooFast(seconds: Int)
  }

  /// The counts of one connection, to be released when it closes. It moves with the
  /// connection from loop to loop.
  struct Permit: Sendable {
    fileprivate var address = TallyKey.none
    fileprivate var visitor = TallyKey.none
    fileprivate var workspace = TallyKey.none
  }

  private struct Rules: Sendable {
    var limits: LimitSettings
    /// Addresses without limits, such as proxies and this machine.
    var exempt: [AddressRange]

    init(_ settings: Settings) {
      limits = settings.limits
      exempt = (settings.limits.exemptAddresses + settings.trustedProxies).compactMap {
        AddressRange($0)
      }
    }
  }

  private let rules: Mutex<Rules>
  private let total = Atomic<Int>(0)
  private let adminSockets = Atomic<Int>(0)
  private let handshakes = Mutex(Handshakes())
  private let addresses = Mutex(Tally())
  private let visitors = Mutex(Tally())
  private let workspaces = Mutex(Tally())
  private let connects: Mutex<RateTable<IPAddress>>
  private let hellos: Mutex<RateTable<IPAddress>>

  init(_ settings: Settings) {
    rules = Mutex(Rules(settings))
    connects = Mutex(
      RateTable(
        burst: settings.limits.connectsPerAddress, perMinute: settings.limits.connectsPerAddress))
    hellos = Mutex(
      RateTable(
        burst: settings.limits.hellosPerAddress, perMinute: settings.limits.hellosPerAddress))
  }

  /// Changes the limits for new connections; open ones stay, and remain counted.
  func use(_ settings: Settings) {
    let limits = settings.limits
    rules.withLock { $0 = Rules(settings) }
    connects.withLock {
      $0.change(burst: limits.connectsPerAddress, perMinute: limits.connectsPerAddress)
    }
    hellos.withLock {
      $0.change(burst: limits.hellosPerAddress, perMinute: limits.hellosPerAddress)
    }
  }

  /// The limit; 0 is none.
  private func most(_ limit: KeyPath<LimitSettings, Int>) -> Int {
    let most = rules.withLock { $0.limits[keyPath: limit] }
    return most == 0 ? .max : most
  }

  func isExempt(_ address: IPAddress) -> Bool { rules.withLock { $0.exempt.contains(address) } }

  /// Counts a new socket, which is not related to a client yet.
  func enter(isAdmin: Bool = false) -> ConnectionDecision {
    guard isAdmin else { return add(to: total, most: most(\.connections)) }
    return add(to: adminSockets, most: Admission.adminSocketsMax)
  }

  private func add(to count: borrowing Atomic<Int>, most: Int) -> ConnectionDecision {
    guard count.add(1, ordering: .relaxed).newValue > most else { return .admitted }
    count.subtract(1, ordering: .relaxed)
    return .full
  }

  /// Counts a connection for its client's address, when that is known.
  func enter(_ address: IPAddress, _ permit: inout Permit, now: Instant) -> ConnectionDecision {
    guard permit.address == .none, !isExempt(address) else { return .admitted }
    let key = address.limitKey
    let seconds = connects.withLock { $0.take(key, atMilliseconds: now.milliseconds) }
    guard seconds == 0 else { return .tooFast(seconds: seconds) }
    // Counted without a limit too, since a later one applies to all connections.
    let counted = TallyKey(key)
    let most = most(\.connectionsPerAddress)
    guard addresses.withLock({ $0.add(counted, most: most) }) else { return .tooManyFromAddress }
    permit.address = counted
    return .admitted
  }

  private struct Handshakes: Sendable {
    var count = 0
    var addresses = Tally()
  }

  enum HandshakeDecision { case admitted, full, tooManyFromAddress }

  /// Counts a handshake with a complete ClientHello until `endHandshake`.
  func beginHandshake(_ address: IPAddress) -> HandshakeDecision {
    let (whole, own) = (
      most(\.handshakes), isExempt(address) ? .max : most(\.handshakesPerAddress)
    )
    return handshakes.withLock { handshakes in
      guard handshakes.count < whole else { return .full }
      guard handshakes.addresses.add(TallyKey(address.limitKey), most: own) else {
        return .tooManyFromAddress
      }
      handshakes.count += 1
      return .admitted
    }
  }

  func endHandshake(_ address: IPAddress) {
    handshakes.withLock { handshakes in
      handshakes.count -= 1
      // The key depends on the address alone, so no socket has to store it.
      handshakes.addresses.remove(TallyKey(address.limitKey))
    }
  }

  /// The digest of an address, under which the messages of its visitors are counted; 0: no limit.
  func quotaKey(of address: IPAddress) -> UInt32 {
    guard !isExempt(address) else { return 0 }
    return max(1, UInt32(truncatingIfNeeded: address.limitKey.hashValue))
  }

  /// Counts one verification of a token for this address.
  ///
  /// - Returns: false above the address's rate limit.
  func mayVerify(_ address: IPAddress, now: Instant) -> Bool {
    guard !isExempt(address) else { return true }
    let key = address.limitKey
    return hellos.withLock { $0.take(key, atMilliseconds: now.milliseconds) } == 0
  }

  enum VisitorDecision { case admitted, tooManyOfVisitor, tooManyOfWorkspace }

  /// Counts a visitor's connection after its hello.
  func enter(
    visitor: Identifier, workspace: Identifier, _ permit: inout Permit
  ) -> VisitorDecision {
    guard permit.visitor == .none, permit.workspace == .none else { return .admitted }
    let own = TallyKey(visitor)
    let ofVisitor = most(\.connectionsPerVisitor)
    guard visitors.withLock({ $0.add(own, most: ofVisitor) }) else { return .tooManyOfVisitor }
    permit.visitor = own
    let shared = TallyKey(workspace)
    let ofWorkspace = most(\.connectionsPerWorkspace)
    guard workspaces.withLock({ $0.add(shared, most: ofWorkspace) }) else {
      return .tooManyOfWorkspace
    }
    permit.workspace = shared
    return .admitted
  }

  /// Releases everything that was counted for a connection.
  func leave(_ permit: Permit, isAdmin: Bool = false) {
    if isAdmin {
      adminSockets.subtract(1, ordering: .relaxed)
    } else {
      total.subtract(1, ordering: .relaxed)
    }
    if permit.address != .none { addresses.withLock { $0.remove(permit.address) } }
    if permit.visitor != .none { visitors.withLock { $0.remove(permit.visitor) } }
    if permit.workspace != .none { workspaces.withLock { $0.remove(permit.workspace) } }
  }

  /// Counted sockets of clients.
  var count: Int { total.load(ordering: .relaxed) }
  /// TLS handshakes in progress in all loops.
  var handshakeCount: Int { handshakes.withLock { $0.count } }
}

/// The address, visitor or workspace that a connection is counted for, in 8 bytes, since each
/// connection holds three. It is a digest under a secret of this process (SipHash), so nobody can
/// choose a collision. By chance two of 20,000 visitors collide once in 5 × 10^10 starts; they then
/// share a limit.
private struct TallyKey: Hashable, Sendable {
  private let digest: Int

  private init(digest: Int) { self.digest = digest }

  init(_ name: some Hashable) {
    // 0 is `none`.
    self.init(digest: max(1, name.hashValue & .max))
  }

  static let none = TallyKey(digest: 0)
}

/// A count for each key; there are never more keys than connections.
private struct Tally: Sendable {
  private var counts: [TallyKey: Int32] = [:]

  mutating func add(_ key: TallyKey, most: Int) -> Bool {
    let count = counts[key] ?? 0
    guard count < most else { return false }
    counts[key] = count + 1
    return true
  }

  mutating func remove(_ key: TallyKey) {
    guard let count = counts[key] else { return }
    counts[key] = count == 1 ? nil : count - 1
  }
}

extension Instant {
  fileprivate var milliseconds: Int64 { nanoseconds / 1_000_000 }
}
