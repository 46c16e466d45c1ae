/// The keys of session tickets (RFC 5077, RFC 8446 §4.6.1). The client stores the session in its
/// ticket, so the gateway stores none. One set of keys serves all loops and certificates and
/// survives a reload, so that a returning client can resume anywhere.
import COpenSSL
import Synchronization

public final class TLSTicketKeys: Sendable {
  /// The time for which a key issues tickets; for the same time again it still decrypts them.
  public static let rotationSeconds: Int64 = 6 * 3600
  static let nameBytes = 16

  /// Overwritten when released: with a key, recorded sessions that were resumed with it could be
  /// decrypted.
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

  /// Creates a new key and drops the key before the previous one.
  public func rotate() {
    ring.withLock { ring in
      ring.previous = ring.current
      ring.current = Key()
    }
  }

  /// OpenSSL's callback. Returns 1 for success, 2 if a new ticket must be issued too, 0 for an
  /// unknown key, -1 to abort the handshake. A client of TLS 1.3 uses a ticket once (RFC 8446
  /// §C.4), so a new one is issued with every resumption; otherwise only every second connection
  /// would resume.
  func prepare(
    name: UnsafeMutablePointer<UInt8>, iv: UnsafeMutablePointer<UInt8>, cipher: OpaquePointer,
    mac: OpaquePointer, isNew: Bool, isUsedOnce: Bool
  ) -> Int32 {
    let ring = ring.withLock { $0 }
    let key: Key
    var answer: Int32 = isUsedOnce && !isNew ? 2 : 1
    if isNew {
      key = ring.current
      // SAFETY: OpenSSL lends buffers of 16 bytes (SSL_CTX_set_tlsext_ticket_key_evp_cb(3)).
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
    // SAFETY: the keys have the lengths required by AES-256 and the MAC and live through the calls.
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
