import Foundation
import Kernel
import Primitives
import Testing

private func pair() throws -> SocketPair { try Sockets.pair() }

/// One end of a pair whose other end is closed.
private func survivorOfAPair() throws -> FileDescriptor {
  let pair = try pair()
  return pair.first
}

/// Waits until a descriptor is ready, for at most five seconds.
private func wait(_ descriptor: borrowing FileDescriptor, _ interest: Interest) throws -> Event? {
  let epoll = try Epoll()
  try epoll.add(descriptor, interest, datum: 1)
  var events = Events(capacity: 1)
  try epoll.wait(into: &events, timeoutMilliseconds: 60_000)
  return events.count == 1 ? events[0] : nil
}

@Suite struct SocketTests {
  @Test("bytes arrive unchanged, at the requested offset")
  func transfer() throws {
    let pair = try pair()
    let message = Array("hello".utf8)
    #expect(message.withRawSpan { pair.first.send($0, from: 1) } == .bytes(4))
    var buffer = [UInt8](repeating: 0, count: 10)
    #expect(buffer.withMutableRawSpan { pair.second.receive(into: &$0, from: 3) } == .bytes(4))
    #expect(Array(buffer[3..<7]) == Array("ello".utf8))
    #expect(buffer.withMutableRawSpan { pair.second.receive(into: &$0) } == .wouldBlock)
  }

  @Test("a full socket accepts a part and then returns wouldBlock; reading makes room")
  func partial() throws {
    let pair = try pair()
    try pair.first.setSendBuffer(byteCount: 4_096)
    let block = [UInt8](repeating: 7, count: 1 << 20)
    guard case .bytes(let taken) = block.withRawSpan({ pair.first.send($0) }) else {
      Issue.record("no bytes were sent")
      return
    }
    #expect(taken > 0 && taken < block.count)
    #expect(block.withRawSpan { pair.first.send($0) } == .wouldBlock)
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    #expect(buffer.withMutableRawSpan { pair.second.receive(into: &$0) } != .wouldBlock)
    #expect(try wait(pair.first, .write)?.isWritable == true)
  }

  @Test("the end of the stream is no error; writing after it is a reset, not a SIGPIPE")
  func ends() throws {
    let survivor = try survivorOfAPair()
    var buffer = [UInt8](repeating: 0, count: 10)
    #expect(buffer.withMutableRawSpan { survivor.receive(into: &$0) } == .endOfStream)
    #expect([UInt8](repeating: 1, count: 3).withRawSpan { survivor.send($0) } == .reset)
    #expect(try wait(survivor, .read)?.isHungUp == true)
  }

  @Test("a half-closed peer is reported, and can still be answered (N12)")
  func halfClosed() throws {
    let pair = try pair()
    try pair.first.shutdownWrite()
    let event = try wait(pair.second, [.read, .readHangUp])
    #expect(event?.isReadHungUp == true && event?.isHungUp == false)
    #expect([UInt8](repeating: 1, count: 3).withRawSpan { pair.second.send($0) } == .bytes(3))
  }

  @Test("a reset is distinguished from the end of the stream (N03)")
  func reset() throws {
    let listener = try Sockets.listen(on: .loopback, port: 0)
    let client = try Sockets.connect(to: .loopback, port: try listener.localPort())
    #expect(try wait(listener, .read)?.isReadable == true)
    guard case .accepted(let server, _) = listener.accept() else {
      Issue.record("no connection was accepted")
      return
    }
    try client.setResetOnClose()
    discard(client)
    #expect(try wait(server, .read)?.isHungUp == true)
    var buffer = [UInt8](repeating: 0, count: 10)
    #expect(buffer.withMutableRawSpan { server.receive(into: &$0) } == .reset)
  }

  @Test("an accepted socket inherits its listener's TCP_NODELAY, so the gateway sets it once")
  func noDelay() throws {
    let listener = try Sockets.listen(on: .loopback, port: 0)
    try listener.setNoDelay()
    let client = try Sockets.connect(to: .loopback, port: try listener.localPort())
    #expect(try wait(listener, .read)?.isReadable == true)
    guard case .accepted(let server, _) = listener.accept() else {
      Issue.record("no connection was accepted")
      return
    }
    func hasNoDelay(_ number: Int32) -> Bool {
      var value: Int32 = 0
      var size = socklen_t(MemoryLayout<Int32>.size)
      // SAFETY: the kernel writes an Int32.
      let result = unsafe getsockopt(number, Int32(IPPROTO_TCP), TCP_NODELAY, &value, &size)
      return result == 0 && value != 0
    }
    #expect(hasNoDelay(server.rawValue))
    #expect(!hasNoDelay(client.rawValue))
  }

  @Test("connecting to a port without a listener fails with its reason")
  func refused() throws {
    let port: UInt16
    do {
      let listener = try Sockets.listen(on: .loopback, port: 0)
      port = try listener.localPort()
    }
    do {
      let client = try Sockets.connect(to: .loopback, port: port)
      #expect(try wait(client, .write) != nil)
      #expect(try client.pendingError() == .connectionRefused)
    } catch {
      #expect(error as? Errno == .connectionRefused)
    }
  }

  @Test("a port in use is refused unless both sockets share it (SO_REUSEPORT)")
  func sharedPort() throws {
    let first = try Sockets.listen(on: .loopback, port: 0, sharing: .others)
    let port = try first.localPort()
    let second = try Sockets.listen(on: .loopback, port: port, sharing: .others)
    #expect(try second.localPort() == port)
    for sharing in [PortSharing.none, .later] {
      do {
        _ = try Sockets.listen(on: .loopback, port: port, sharing: sharing)
        Issue.record("a third listener without sharing was accepted")
      } catch {
        #expect(error == .addressInUse)
      }
    }
  }

  @Test("the first listener binds exclusively, then shares the port with later ones only")
  func portSharedLater() throws {
    let first = try Sockets.listen(on: .loopback, port: 0, sharing: .later)
    let port = try first.localPort()
    do {
      _ = try Sockets.listen(on: .loopback, port: port, sharing: .later)
      Issue.record("a second exclusive listener was accepted")
    } catch {
      #expect(error == .addressInUse)
    }
    let second = try Sockets.listen(on: .loopback, port: port, sharing: .others)
    // The kernel distributes connections: all 64 at one listener would be a chance of 2^-63.
    var counts = [0, 0]
    for _ in 0..<64 {
      let client = try Sockets.connect(to: .loopback, port: port)
      #expect(try wait(client, .write) != nil)
      while true {
        if case .accepted = first.accept() {
          counts[0] += 1
          break
        }
        if case .accepted = second.accept() {
          counts[1] += 1
          break
        }
      }
    }
    #expect(counts[0] > 0 && counts[1] > 0)
  }

  @Test("a listener for both families returns IPv4 peers as IPv4 addresses (N17)")
  func dualStack() throws {
    let listener: FileDescriptor
    do {
      listener = try Sockets.listen(on: .any, port: 0)
    } catch {
      return  // A machine without IPv6.
    }
    let port = try listener.localPort()
    let client = try Sockets.connect(to: .loopback, port: port)
    #expect(try wait(listener, .read) != nil)
    guard case .accepted(_, let peer) = listener.accept() else {
      Issue.record("no connection was accepted")
      return
    }
    let clientPort = try client.localPort()
    #expect(peer.ip == .loopback && peer.port == clientPort)
    #expect(peer.description == "127.0.0.1:\(peer.port)")
  }

  @Test("a Unix socket connects by its path, and a path that is too long is refused")
  func unixSocket() throws {
    let path = "/tmp/chirrup-test-\(Random.uint64())"
    let listener = try Sockets.listen(path: path)
    let client = try Sockets.connect(path: path)
    guard case .accepted(let server, let peer) = listener.accept() else {
      Issue.record("no connection was accepted")
      return
    }
    #expect(peer == .local)
    #expect([UInt8](repeating: 1, count: 3).withRawSpan { server.send($0) } == .bytes(3))
    #expect(try wait(client, .read)?.isReadable == true)
    #expect(throws: Errno.nameTooLong) {
      _ = try Sockets.connect(path: String(repeating: "x", count: 108)).rawValue
    }
    _ = try ChildProcess.run(Command("rm", [path]))
  }

  @Test("accept returns wouldBlock without a connection")
  func nothingToAccept() throws {
    let listener = try Sockets.listen(on: .loopback, port: 0)
    guard case .wouldBlock = listener.accept() else {
      Issue.record("accept did not return wouldBlock")
      return
    }
  }

  @Test("a descriptor is closed with its owner, but not when it was released")
  func closes() throws {
    let listener = try Sockets.listen(on: .loopback, port: 0)
    let client = try Sockets.connect(to: .loopback, port: try listener.localPort())
    #expect(try wait(listener, .read) != nil)
    guard case .accepted(let server, _) = listener.accept() else {
      Issue.record("no connection was accepted")
      return
    }
    let number = server.release()
    var buffer = [UInt8](repeating: 0, count: 1)
    #expect(buffer.withMutableRawSpan { client.receive(into: &$0) } == .wouldBlock)
    discard(FileDescriptor(owning: number))
    #expect(try wait(client, .read) != nil)
    #expect(buffer.withMutableRawSpan { client.receive(into: &$0) } == .endOfStream)
  }
}

private func discard(_ descriptor: consuming FileDescriptor) {}
