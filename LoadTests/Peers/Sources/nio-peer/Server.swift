/// A WebSocket server with SwiftNIO, optimised as far as its API permits: one event loop, one write
/// for all replies to a read, one encoding of a published frame, one write for all frames published
/// in a read. `nio-peer PORT` serves /echo, /sub and /pub.
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket

@main
enum Server {
  static func main() throws {
    guard CommandLine.arguments.count == 2, let port = Int(CommandLine.arguments[1]) else {
      print("usage: nio-peer PORT")
      exit(2)
    }
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let loop = group.next()
    let hub = try loop.submit { NIOLoopBound(Hub(), eventLoop: loop) }.wait()
    let upgrader = NIOWebSocketServerUpgrader(
      maxFrameSize: 1 << 20,
      shouldUpgrade: { channel, head in
        let headers = Role(path: head.uri).map { _ in HTTPHeaders() }
        return channel.eventLoop.makeSucceededFuture(headers)
      },
      upgradePipelineHandler: { channel, head in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          let encoder = try pipeline.context(handlerType: WebSocketFrameEncoder.self)
          try pipeline.addHandler(
            Peer(role: Role(path: head.uri) ?? .echo, hub: hub.value, encoder: encoder))
        }
      })
    let listener = try ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 4096)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      // One recv per readable event: a second one without data costs as much as the first.
      .childChannelOption(.maxMessagesPerRead, value: 1)
      .childChannelInitializer { channel in
        channel.pipeline.configureHTTPServerPipeline(
          withPipeliningAssistance: false,
          withServerUpgrade: (upgraders: [upgrader], completionHandler: { _ in }))
      }
      .bind(host: "127.0.0.1", port: port).wait()
    try listener.closeFuture.wait()
  }
}

enum Role: String {
  case echo = "/echo"
  case subscriber = "/sub"
  case publisher = "/pub"

  init?(path: String) { self.init(rawValue: path) }
}

/// The shared state of the connections.
final class Hub {
  /// Without gaps: the last subscriber moves to the index of a removed one.
  private var subscribers: [Peer] = []
  /// Frames to be written. The memory is reused after the kernel has accepted them.
  var output = ByteBuffer()

  func add(_ peer: Peer) {
    peer.position = subscribers.count
    subscribers.append(peer)
  }

  func remove(_ peer: Peer) {
    let last = subscribers.removeLast()
    guard last !== peer else { return }
    last.position = peer.position
    subscribers[peer.position] = last
  }

  func publish(_ frames: ByteBuffer) {
    for peer in subscribers { peer.write(frames) }
  }
}
