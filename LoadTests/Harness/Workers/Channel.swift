/// Messages between the parent and a worker process over a Unix socket: four bytes of length, then
/// JSON. The socket closes at the end of either process.
import Foundation
import Kernel
import Primitives

enum ChannelFailure: Error, CustomStringConvertible {
  /// The other process has ended.
  case closed
  /// The other process does not read.
  case stuck
  case tooLong(Int)
  case malformed(String)
  case system(Errno)

  var description: String {
    switch self {
    case .closed: "the other process has ended"
    case .stuck: "the other process has read nothing for \(Channel.sendMilliseconds / 1000) s"
    case .tooLong(let count): "a message of \(count) bytes is too long"
    case .malformed(let why): "a malformed message: \(why)"
    case .system(let error): "\(error)"
    }
  }
}

final class Channel {
  private let socket: FileDescriptor
  private let epoll: Epoll
  private var events = Events(capacity: 1)
  private var input: [UInt8] = []
  private var buffer = [UInt8](repeating: 0, count: 262_144)

  static let sendMilliseconds: Int64 = 30_000
  /// Orders contain the tokens of some 20,000 clients, results some histograms.
  private static let messageBytesMax = 256 << 20
  private static let headBytes = 4

  init(_ socket: consuming FileDescriptor) throws(ChannelFailure) {
    do throws(Errno) {
      epoll = try Epoll()
      try epoll.add(socket, .read, datum: 0)
    } catch {
      throw .system(error)
    }
    self.socket = socket
  }

  /// Registers for readability and the end of the stream.
  func register(in epoll: borrowing Epoll) throws(Errno) {
    try epoll.add(socket, [.read, .readHangUp, .edgeTriggered], datum: 0)
  }

  func send(_ message: some Encodable) throws {
    let body = try JSONEncoder().encode(message)
    guard body.count <= Channel.messageBytesMax else { throw ChannelFailure.tooLong(body.count) }
    var bytes = bigEndianBytes(of: UInt32(body.count))
    bytes += [UInt8](body)
    try transmit(bytes)
  }

  private func transmit(_ bytes: [UInt8]) throws {
    var sent = 0
    var limit = SystemClock.now().advanced(byMilliseconds: Channel.sendMilliseconds)
    while sent < bytes.count {
      switch bytes.withRawSpan({ socket.send($0, from: sent) }) {
      case .bytes(let count):
        sent += count
        limit = SystemClock.now().advanced(byMilliseconds: Channel.sendMilliseconds)
      case .wouldBlock:
        guard SystemClock.now() < limit else { throw ChannelFailure.stuck }
        try epoll.modify(socket, .write, datum: 0)
        try epoll.wait(into: &events, timeoutMilliseconds: 100)
        try epoll.modify(socket, .read, datum: 0)
      case .reset: throw ChannelFailure.closed
      case .failed(let error): throw ChannelFailure.system(error)
      }
    }
  }

  /// The next message; nil when no whole one arrived within the time.
  func receive<Message: Decodable>(_ type: Message.Type, milliseconds: Int32) throws -> Message? {
    let limit = SystemClock.now().advanced(byMilliseconds: Int64(milliseconds))
    while true {
      if let message = try take(type) { return message }
      switch buffer.withMutableRawSpan({ socket.receive(into: &$0) }) {
      case .bytes(let count): input += buffer[..<count]
      case .wouldBlock:
        let left = limit.milliseconds(since: SystemClock.now())
        guard left > 0 else { return nil }
        try epoll.wait(into: &events, timeoutMilliseconds: Int32(clamping: left))
      case .endOfStream, .reset: throw ChannelFailure.closed
      case .failed(let error): throw ChannelFailure.system(error)
      }
    }
  }

  private func take<Message: Decodable>(_ type: Message.Type) throws -> Message? {
    guard input.count >= Channel.headBytes else { return nil }
    let count = input[..<Channel.headBytes].reduce(0) { $0 << 8 | Int($1) }
    guard count <= Channel.messageBytesMax else { throw ChannelFailure.tooLong(count) }
    guard input.count >= Channel.headBytes + count else { return nil }
    let body = Data(input[Channel.headBytes..<Channel.headBytes + count])
    input.removeFirst(Channel.headBytes + count)
    do {
      return try JSONDecoder().decode(type, from: body)
    } catch {
      throw ChannelFailure.malformed("\(error)")
    }
  }
}

private func bigEndianBytes(of value: UInt32) -> [UInt8] {
  (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * UInt32($0))) }
}
