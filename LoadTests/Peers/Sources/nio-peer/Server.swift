/// A WebSocket server made with SwiftNIO as well as that is done: one event loop, replies to what
/// one read brought leave in one write, a published frame is encoded once and all that were
/// published in one read leave together. `nio-peer PORT` serves /echo, /sub and /pub.
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
      // One recv per readable event: a second one that finds nothing costs as much as the first.
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

/// What the connections of the one loop share.
final class Hub {
  /// Dense: who leaves gives its place to the last.
  private var subscribers: [Peer] = []
  /// Frames to be written. Once the kernel has taken them its memory is used again.
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
