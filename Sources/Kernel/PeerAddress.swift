/// The other end of a connection.
public struct PeerAddress: Hashable, Sendable {
  public var ip: IPAddress
  public var port: UInt16

  public init(ip: IPAddress, port: UInt16) {
    self.ip = ip
    self.port = port
  }

  /// A peer on a Unix socket, which has no address.
  public static let local = PeerAddress(ip: .loopback, port: 0)
}

extension PeerAddress: CustomStringConvertible {
  public var description: String {
    ip.isVersion4 ? "\(ip):\(port)" : "[\(ip)]:\(port)"
  }
}
