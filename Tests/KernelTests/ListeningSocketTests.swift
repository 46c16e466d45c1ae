import Glibc
import Testing

@testable import Kernel

@Suite struct ListeningSocketTests {
  private static let table = """
      sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
       0: 0100007F:1F90 00000000:0000 0A 0000000:0 0:0 00000000 1000 0 4711 1
       1: 0100007F:1F90 0100007F:D431 01 0000000:0 0:0 00000000 1000 0 4712 1
       2: 00000000000000000000000001000000:01BB 00000000000000000000000000000000:0000 0A \
    00000000:00000000 00:00000000 00000000     0        0 4713 1
       x: nonsense
    """

  @Test("listening sockets are read from the kernel's table, connections are not")
  func parsing() {
    let sockets = ListeningSocket.parse(Self.table)
    #expect(
      sockets.map { "\($0.address) \($0.user) \($0.inode)" } == [
        "127.0.0.1:8080 1000 4711", "[::1]:443 0 4713",
      ])
  }

  @Test("a wildcard accepts every address of its family, and :: those of IPv4 too")
  func wildcards() throws {
    let version4 = try #require(IPAddress("192.0.2.1"))
    let version6 = try #require(IPAddress("2001:db8::1"))
    func socket(_ text: String) throws -> ListeningSocket {
      let ip = try #require(IPAddress(text))
      return ListeningSocket(address: PeerAddress(ip: ip, port: 80), user: 0, inode: 1)
    }
    #expect(try socket("0.0.0.0").accepts(version4, port: 80))
    #expect(try !socket("0.0.0.0").accepts(version6, port: 80))
    #expect(try socket("::").accepts(version4, port: 80))
    #expect(try socket("::").accepts(version6, port: 80))
    #expect(try !socket("192.0.2.2").accepts(version4, port: 80))
    #expect(try !socket("::").accepts(version4, port: 81))
  }

  @Test("the owner of a listening socket is found by its inode")
  func owner() throws {
    let listener = try Sockets.listen(on: .loopback, port: 0)
    let port = try listener.localPort()
    let found = try #require(
      ListeningSocket.parse(text(of: "/proc/net/tcp")).first {
        $0.accepts(.loopback, port: port)
      })
    #expect(ListeningSocket.owners(of: [found.inode])[found.inode]?.contains(getpid()) == true)
  }

  @Test("a semaphore's wait ends at its limit, or with a signal")
  func semaphore() {
    let semaphore = Semaphore()
    #expect(!semaphore.wait(milliseconds: 10))
    semaphore.signal()
    #expect(semaphore.wait(milliseconds: 60_000))
  }

  @Test("localhost has a loopback address, and a reserved name has none")
  func lookup() throws {
    #expect(try HostLookup.addresses(of: "localhost").contains { $0.isLoopback })
    #expect(throws: HostLookup.Failure.self) { try HostLookup.addresses(of: "nowhere.invalid") }
  }
}

/// The whole text: Foundation takes a short read for the end, and reads one page of these tables.
private func text(of path: String) -> String {
  // SAFETY: the path is copied into a C string for the call.
  let file = unsafe open(path, O_RDONLY)
  defer { close(file) }
  var (bytes, part): ([UInt8], [UInt8]) = ([], [UInt8](repeating: 0, count: 65_536))
  while true {
    // SAFETY: the buffer has `count` bytes.
    let count = unsafe read(file, &part, part.count)
    guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
    bytes += part[..<count]
  }
}
