import CLinux

/// A TCP socket that listens on this machine, as /proc lists it (proc_net_tcp(5)).
public struct ListeningSocket: Sendable, Equatable {
  public var address: PeerAddress
  /// The user that created it.
  public var user: UInt32
  public var inode: UInt64

  /// The state TCP_LISTEN.
  private static let listening: Substring = "0A"

  /// - Parameter table: the text of /proc/net/tcp or /proc/net/tcp6.
  public static func parse(_ table: String) -> [ListeningSocket] {
    table.split(separator: "\n").compactMap { line in
      let cells = line.split(separator: " ")
      guard cells.count > 9, cells[3] == listening, let address = address(cells[1]),
        let user = UInt32(cells[7]), let inode = UInt64(cells[9])
      else { return nil }
      return ListeningSocket(address: address, user: user, inode: inode)
    }
  }

  /// `0100007F:1F90`: words of 32 bits in the machine's order, and the port.
  private static func address(_ text: Substring) -> PeerAddress? {
    let parts = text.split(separator: ":")
    guard parts.count == 2, parts[0].utf8.count == 8 || parts[0].utf8.count == 32,
      let port = UInt16(parts[1], radix: 16)
    else { return nil }
    var words: [UInt64] = []
    var rest = parts[0]
    while !rest.isEmpty {
      guard let word = UInt32(rest.prefix(8), radix: 16) else { return nil }
      words.append(UInt64(UInt32(bigEndian: word)))
      rest = rest.dropFirst(8)
    }
    if words.count == 1 {
      return PeerAddress(ip: IPAddress(version4: UInt32(words[0])), port: port)
    }
    return PeerAddress(
      ip: IPAddress(high: words[0] << 32 | words[1], low: words[2] << 32 | words[3]), port: port)
  }

  /// Whether a connection to the address and port is given to this socket. `::` accepts IPv4 too.
  public func accepts(_ ip: IPAddress, port: UInt16) -> Bool {
    guard port == address.port else { return false }
    return address.ip == ip || address.ip == .any
      || address.ip == IPAddress(version4: 0) && ip.isVersion4
  }

  /// The processes that have the sockets open, by the sockets' inodes. Another user's processes are
  /// visible to root only.
  public static func owners(of inodes: Set<UInt64>) -> [UInt64: Set<Int32>] {
    var owners: [UInt64: Set<Int32>] = [:]
    for name in (try? FolderListing.names(in: "/proc")) ?? [] {
      guard let process = Int32(name) else { continue }
      let folder = "/proc/\(name)/fd"
      for descriptor in (try? FolderListing.names(in: folder)) ?? [] {
        guard let inode = inode(of: "\(folder)/\(descriptor)"), inodes.contains(inode) else {
          continue
        }
        owners[inode, default: []].insert(process)
      }
    }
    return owners
  }

  /// Of a link `socket:[1234]`.
  private static func inode(of path: String) -> UInt64? {
    var buffer = [UInt8](repeating: 0, count: 64)
    // SAFETY: readlink writes at most `count` bytes.
    let count = unsafe buffer.withUnsafeMutableBytes {
      guard let start = $0.baseAddress else { return 0 }
      return unsafe readlink(path, start.assumingMemoryBound(to: CChar.self), $0.count)
    }
    guard count > 9 else { return nil }
    let text = String(decoding: buffer[..<count], as: UTF8.self)
    return text.hasPrefix("socket:[") ? UInt64(text.dropFirst(8).dropLast()) : nil
  }
}
