import Primitives

/// The header by which a proxy says for whom it connects (the PROXY protocol of HAProxy, version 2,
/// §2.2), read from the first bytes of a connection, before TLS.
///
/// Exactly its bytes are asked for, never one that belongs to what follows. Bounded by
/// `byteCountMax`, refused at the first byte that cannot be right; the type-length-values behind
/// the addresses are skipped. Version 1, a line of text, is refused: whoever can send it can send
/// this.
public struct ProxyHeader: Sendable {
  public enum Source: Equatable, Sendable {
    /// The proxy speaks for itself (LOCAL, a health check), or does not say for whom.
    case proxy
    /// The address as IPv6, an IPv4 one mapped (RFC 4291 §2.5.5.2), and the port.
    case client(high: UInt64, low: UInt64, port: UInt16)
  }

  /// Bytes of the longest header that is read: addresses take 52 at most, the rest is a
  /// certificate's names and the like.
  public static let byteCountMax = 4_096

  private static let signature: [12 of UInt8] = [
    0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A,
  ]
  private static let fixedByteCount = 16

  private var bytes: [UInt8] = []

  public init() {}

  /// How many bytes to read next, at most: above 0 until the source is known.
  public var wantedByteCount: Int {
    max(1, (bytes.count < ProxyHeader.fixedByteCount ? ProxyHeader.fixedByteCount : end))
      - bytes.count
  }

  /// Takes at most `wantedByteCount` bytes; answers once the header is complete.
  public mutating func receive(_ more: RawSpan) throws(ProxyFault) -> Source? {
    precondition(more.byteCount <= wantedByteCount, "bytes behind the header belong to others")
    bytes.append(more)
    try checkFixed()
    guard bytes.count >= ProxyHeader.fixedByteCount, bytes.count == end else { return nil }
    return try source()
  }

  /// The header's length, once its fixed part is there.
  private var end: Int { ProxyHeader.fixedByteCount + Int(bytes[14]) << 8 + Int(bytes[15]) }

  private func checkFixed() throws(ProxyFault) {
    for (offset, byte) in bytes.prefix(12).enumerated() where byte != ProxyHeader.signature[offset]
    {
      throw bytes.starts(with: "PROXY".utf8.prefix(bytes.count)) ? .versionOne : .noHeader
    }
    if bytes.count > 12 {
      guard bytes[12] >> 4 == 2, bytes[12] & 15 <= 1 else { throw .malformed }
    }
    // §2.2: families beyond Unix and protocols beyond datagrams do not exist.
    if bytes.count > 13 {
      guard bytes[13] >> 4 <= 3, bytes[13] & 15 <= 2 else { throw .malformed }
    }
    if bytes.count >= ProxyHeader.fixedByteCount, end > ProxyHeader.byteCountMax { throw .tooLong }
  }

  private func source() throws(ProxyFault) -> Source {
    // §2.2: for LOCAL the addresses are ignored, whatever they are.
    guard bytes[12] & 15 == 1 else { return .proxy }
    let addressByteCount = end - ProxyHeader.fixedByteCount
    switch bytes[13] {
    case 0x11:
      guard addressByteCount >= 12 else { throw .malformed }
      return .client(
        high: 0, low: 0xFFFF_0000_0000 | number(at: 16, byteCount: 4),
        port: UInt16(truncatingIfNeeded: number(at: 24, byteCount: 2)))
    case 0x21:
      guard addressByteCount >= 36 else { throw .malformed }
      return .client(
        high: number(at: 16, byteCount: 8), low: number(at: 24, byteCount: 8),
        port: UInt16(truncatingIfNeeded: number(at: 48, byteCount: 2)))
    // A datagram cannot have come over this stream.
    case 0x12, 0x22, 0x32: throw .malformed
    // Unspecified, or a Unix socket on the proxy's machine.
    default: return .proxy
    }
  }

  private func number(at offset: Int, byteCount: Int) -> UInt64 {
    bytes[offset..<offset + byteCount].reduce(0) { $0 << 8 | UInt64($1) }
  }
}

/// Why a connection that must begin with a PROXY header is refused.
public enum ProxyFault: Error, Equatable, Sendable, CaseIterable {
  case noHeader, versionOne, malformed, tooLong

  public var reason: StaticString {
    switch self {
    case .noHeader: "no PROXY header from a trusted proxy"
    case .versionOne: "PROXY header of version 1"
    case .malformed: "malformed PROXY header"
    case .tooLong: "PROXY header too long"
    }
  }
}
