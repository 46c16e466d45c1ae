/// The keys that sign tokens. A key that was replaced is accepted until the last of its tokens has
/// expired, or until it is ended at once.
import JSON
import OpenSSL
public import Primitives
import Synchronization

/// A key that signs tokens, and the time in which it does.
public struct TokenKey: Sendable {
  /// The `kid` of its tokens (RFC 7515 §4.1.4); nil: they have none.
  public var id: String?
  /// At least `TokenAuthority.secretBytesMin` bytes.
  public var secret: [UInt8]
  public var startsAt: WallTime
  /// Its tokens are refused from then on. Nil: no end.
  public var endsAt: WallTime?

  public init(id: String?, secret: [UInt8], startsAt: WallTime, endsAt: WallTime?) {
    self.id = id
    self.secret = secret
    self.startsAt = startsAt
    self.endsAt = endsAt
  }
}

/// The keys of a `TokenAuthority`, which `use` replaces while tokens are verified.
final class KeyRing: Sendable {
  struct Entry: Sendable {
    let id: String?
    /// See `VerifiedToken.key`.
    let serial: UInt32
    /// The first part of its tokens.
    let header: String
    let code: HMACSHA256Key
    let startsAt: WallTime
    let endsAt: WallTime?

    init(_ key: TokenKey, serial: UInt32) {
      precondition(
        key.secret.count >= TokenAuthority.secretBytesMin,
        "an HS256 key must have at least 32 bytes")
      id = key.id
      self.serial = serial
      // The JOSE header (RFC 7515 §4.1).
      header = Base64.url.encode(
        .object { json in
          json.appendMember("alg", "HS256")
          json.appendMember("kid", ifAny: key.id)
          json.appendMember("typ", "JWT")
        })
      code = HMACSHA256Key(key.secret)
      startsAt = key.startsAt
      endsAt = key.endsAt
    }

    func isAccepted(at now: WallTime) -> Bool { endsAt.map { now < $0 } ?? true }

    func isNamed(by token: RawSpan) -> Bool {
      let length = header.utf8.count
      guard token.byteCount > length, token.byte(at: length) == UInt8(ascii: ".") else {
        return false
      }
      for (offset, byte) in header.utf8.enumerated() where token.byte(at: offset) != byte {
        return false
      }
      return true
    }
  }

  private struct State: Sendable {
    /// Oldest first.
    var entries: [Entry] = []
    /// The serials of the keys that were accepted at the last `use`.
    var accepted: Set<UInt32> = []
    var nextSerial: UInt32 = 0
  }

  private let state: Mutex<State>

  init(_ keys: [TokenKey]) {
    state = Mutex(State())
    _ = use(keys, now: WallTime(microseconds: 0))
  }

  /// - Returns: the serials of the keys that have ended since the last call.
  func use(_ keys: [TokenKey], now: WallTime) -> [UInt32] {
    precondition(!keys.isEmpty, "tokens need a key")
    let sorted = keys.sorted { $0.startsAt < $1.startsAt }
    return state.withLock { state in
      var entries: [Entry] = []
      for key in sorted {
        if let known = state.entries.first(where: { $0.id == key.id }) {
          entries.append(Entry(key, serial: known.serial))
        } else {
          entries.append(Entry(key, serial: state.nextSerial))
          state.nextSerial += 1
        }
      }
      state.entries = entries
      let before = state.accepted
      state.accepted = Set(entries.filter { $0.isAccepted(at: now) }.map(\.serial))
      return before.subtracting(state.accepted).sorted()
    }
  }

  /// The newest key that has begun to sign, by this machine's clock, which may be behind.
  func signing(at now: WallTime) -> Entry {
    let entries = state.withLock { $0.entries }
    let live = entries.filter { $0.isAccepted(at: now) }
    return live.last { $0.startsAt <= now } ?? live.first ?? entries[entries.count - 1]
  }

  /// The keys that may have signed a token: the one that its header names, else all. Keys that do
  /// not sign yet are among them, since the clock of another gateway may be ahead.
  func accepted(at now: WallTime, for token: RawSpan) -> [Entry] {
    let live = state.withLock { $0.entries }.filter { $0.isAccepted(at: now) }
    for entry in live where entry.isNamed(by: token) { return [entry] }
    return live
  }
}
