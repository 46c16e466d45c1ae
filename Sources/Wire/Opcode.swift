/// The frame types of RFC 6455 §5.2. Any other value on the wire is a fault (1002).
public enum Opcode: UInt8, Equatable, Sendable {
  case continuation = 0x0
  case text = 0x1
  case binary = 0x2
  case close = 0x8
  case ping = 0x9
  case pong = 0xA

  /// Control frames are never fragmented and carry at most 125 bytes (RFC 6455 §5.5).
  @inlinable
  public var isControl: Bool { rawValue & 0x8 != 0 }
}
