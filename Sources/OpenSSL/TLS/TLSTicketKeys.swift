/// The keys of session tickets (RFC 5077, RFC 8446 §4.6.1): a client that returns brings its
/// session itself, so the gateway stores none. One set for all loops and for every certificate, and
/// kept over a reload, so that a returning client resumes on whichever it meets.
import COpenSSL
import Synchronization

public final class TLSTicketKeys: Sendable {
  /// How long a key makes tickets; for as long again it still opens them.
  public static let rotationSeconds: Int64 = 6 * 3600
  static let nameBytes = 16

  /// Overwritten when it is forgotten: who finds it later could read what was resumed with it.
  private final class Key: @unchecked Sendable {
    // SAFETY: of sendability: nothing is written between `init` and `deinit`.
    private(set) var name = SecureRandom.bytes(TLSTicketKeys.nameBytes)
    private(set) var cipher = SecureRandom.bytes(32)
    private(set) var mac = SecureRandom.bytes(32)

    deinit {
      overwrite(&cipher)
      overwrite(&mac)
    }
  }

  private struct Ring: Sendable {
    var current = Key()
    var previous: Key?
  }

  private let ring = Mutex(Ring())

  public init() {}

  /// Makes a new key; the one before the last is forgotten.
  public func rotate() {
    ring.withLock { ring in
      ring.previous = ring.current
      ring.current = Key()
    }
  }

  /// OpenSSL's callback: 1 is good, 2 is good and a new ticket is due, 0 is an unknown key, -1 ends
  /// the handshake. A client of TLS 1.3 uses a ticket once (RFC 8446 §C.4), so that one is due with
  /// every resumption: else only every other connection of a returning client resumes.
  func prepare(
    name: UnsafeMutablePointer<UInt8>, iv: UnsafeMutablePointer<UInt8>, cipher: OpaquePointer,
    mac: OpaquePointer, isNew: Bool, isUsedOnce: Bool
  ) -> Int32 {
    let ring = ring.withLock { $0 }
    let key: Key
    var answer: Int32 = isUsedOnce && !isNew ? 2 : 1
    if isNew {
      key = ring.current
      // SAFETY: OpenSSL gives room for 16 bytes each (SSL_CTX_set_tlsext_ticket_key_evp_cb(3)).
      for index in 0..<TLSTicketKeys.nameBytes { unsafe name[index] = key.name[index] }
      guard unsafe RAND_bytes(iv, Int32(TLSTicketKeys.nameBytes)) == 1 else { return -1 }
    } else {
      let found = unsafe Array(UnsafeBufferPointer(start: name, count: TLSTicketKeys.nameBytes))
      if found == ring.current.name {
        key = ring.current
      } else if let previous = ring.previous, found == previous.name {
        key = previous
        answer = 2
      } else {
        return 0
      }
    }
    var secret = key.mac
    defer { overwrite(&secret) }
    // SAFETY: the keys have the lengths that AES-256 and the MAC take and live through the calls.
    let isReady = unsafe key.cipher.withUnsafeBufferPointer { bytes in
      unsafe EVP_CipherInit_ex(
        cipher, EVP_aes_256_cbc(), nil, bytes.baseAddress, iv, isNew ? 1 : 0)
    }
    let isMACReady = unsafe secret.withUnsafeMutableBufferPointer { bytes in
      unsafe chirrup_ticket_mac(mac, bytes.baseAddress, bytes.count)
    }
    return isReady == 1 && isMACReady == 1 ? answer : -1
  }
}
