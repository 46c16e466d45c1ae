import Primitives

/// The header in which a proxy states the client's address (the PROXY protocol of HAProxy, version
/// 2, §2.2), read from the first bytes of a connection, before TLS.
///
/// It reads exactly the header's bytes, never a byte of the stream behind it. Its length is bounded
/// by `byteCountMax`, and it is refused at the first invalid byte. The type-length-values after the
/// addresses are skipped. Version 1, a line of text, is refused: every proxy that sends version 1
/// can also send version 2.
public struct ProxyHeader: Sendable {
  public enum Source: Equatable, Sendable {
    /// The proxy's own connection (LOCAL, a health check), or one without a client address.
    case proxy
    /// The client's IPv6 address, or its IPv4 address mapped (RFC 4291 §2.5.5.2), and its port.
    case client(high: UInt64, low: UInt64, port: UInt16)
  }

  /// Bytes of the longest accepted header: the fixed part and the addresses take at most 52 without
  /// Unix sockets, the rest is type-length-values such as a certificate's names.
  public static let byteCountMax = 4_096

  private static let signature: [12 of UInt8] = [
    0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A,
  ]
  private static let fixedByteCount = 16

  private var bytes: [UInt8] = []

  public init() {}

  /// The maximum number of bytes to read next: above 0 until the source is known.
  public var wantedByteCount: Int {
    max(1, (bytes.count < ProxyHeader.fixedByteCount ? ProxyHeader.fixedByteCount : end))
      - bytes.count
  }

  /// Takes at most `wantedByteCount` bytes. Returns nil until the header is complete.
  public mutating func receive(_ more: RawSpan) throws(ProxyFault) -> Source? {
    precondition(more.byteCount <= wantedByteCount, "more bytes than the header has")
    bytes.append(more)
    try checkFixed()
    guard bytes.count >= ProxyHeader.fixedByteCount, bytes.count == end else { return nil }
    return try source()
  }

  /// The header's length, valid once its fixed part has arrived.
  private var end: Int { ProxyHeader.fixedByteCount + Int(bytes[14]) << 8 + Int(bytes[15]) }

  private func checkFixed() throws(ProxyFault) {
    for (offset, byte) in bytes.prefix(12).enumerated() where byte != ProxyHeader.signature[offset]
    {
      throw bytes.starts(with: "PROXY".utf8.prefix(bytes.count)) ? .versionOne : .noHeader
    }
    if bytes.count > 12 {
      guard bytes[12] >> 4 == 2, bytes[12] & 15 <= 1 else { throw .malformed }
    }
    // §2.2: no family above Unix and no protocol above datagram is defined.
    if bytes.count > 13 {
      guard bytes[13] >> 4 <= 3, bytes[13] & 15 <= 2 else { throw .malformed }
    }
    if bytes.count >= ProxyHeader.fixedByteCount, end > ProxyHeader.byteCountMax { throw .tooLong }
  }

  private func source() throws(ProxyFault) -> Source {
    // §2.2: the addresses of LOCAL are ignored.
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
