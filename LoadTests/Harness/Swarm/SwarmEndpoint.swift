/// The destination of a swarm's connections, and the opening handshake (RFC 6455 §4.1) that all of
/// them share.
///
/// All connections use the same key, because no cache lies between a load test and its server. The
/// first answer is validated completely, the others by status and accept value only.
import Kernel
import Primitives
import Wire

struct SwarmEndpoint {
  let target: Target
  /// Plain bytes, without handshake and frames.
  let isBare: Bool
  let request: [UInt8]
  private let upgrade: UpgradeRequest
  private let accept: [UInt8]
  private var hasJudged = false

  init(_ target: Target, isBare: Bool = false) {
    self.target = target
    self.isBare = isBare
    upgrade = UpgradeRequest(
      host: target.host, target: target.path, subprotocol: target.isChat ? "chirrup.v1" : nil,
      random: (Random.uint64(), Random.uint64()))
    var request: [UInt8] = []
    upgrade.append(to: &request)
    self.request = request
    accept = Array(Upgrade.acceptValue(forKey: upgrade.key).utf8)
  }

  /// Nil while the head is incomplete; otherwise its length, or the reason to reject it.
  mutating func judge(_ bytes: [UInt8]) -> Result<Int, Refusal>? {
    bytes.withRawSpan { span in
      var scanner = HeadScanner()
      do throws(HeadFault) {
        guard let count = try scanner.scan(span) else { return nil }
        let head = span.extracting(0..<count)
        if hasJudged, isPlainYes(head) { return .success(count) }
        switch upgrade.judge(try ResponseHead.parse(head)) {
        case .accepted(let subprotocol) where subprotocol == upgrade.subprotocol:
          hasJudged = true
          return .success(count)
        case .accepted: return .failure(Refusal(label: "subprotocol that was not requested"))
        case .refused(let status): return .failure(Refusal(label: "http \(status)"))
        case .invalid(let reason): return .failure(Refusal(label: "bad handshake: \(reason)"))
        }
      } catch {
        return .failure(Refusal(label: "bad head: \(error)"))
      }
    }
  }

  private func isPlainYes(_ head: RawSpan) -> Bool {
    guard head.byteCount > 12, head.extracting(9..<12).equals("101") else { return false }
    return accept.withRawSpan { value in
      var offset = 12
      while head.byteCount - offset >= value.byteCount {
        if head.byte(at: offset) == value.byte(at: 0),
          areEqual(head.extracting(offset..<offset + value.byteCount), value)
        {
          return true
        }
        offset += 1
      }
      return false
    }
  }
}

struct Refusal: Error, Equatable {
  var label: String
}

extension Target {
  /// Whether it is the gateway's chat, which has a subprotocol; an echo or a peer has none.
  var isChat: Bool { path.hasPrefix("/api/v1/ws") }
}

/// The local source addresses of connections.
///
/// An address has 28,000 ports per server, a closed connection keeps its port for a minute, and the
/// search for a free port becomes slow long before that. All of 127.0.0.0/8 is local, so each
/// process uses its own addresses there, and the next one for every 10,000 connections. For remote
/// servers the kernel chooses.
struct SourceAddresses {
  private let first: UInt32
  private let isLoopback: Bool

  private static let connectionsEach = 10_000

  init(to target: Target, process: Int32) {
    isLoopback = target.address.isLoopback && target.address.isVersion4
    // 127.x.y.1 to .254: x and y are 16 bits of the process id, and x is not 0.
    first = 0x7F00_0001 | UInt32(truncatingIfNeeded: process) << 8 & 0x00FF_FF00 | 0x0010_0000
  }

  subscript(connection: Int) -> IPAddress? {
    guard isLoopback else { return nil }
    let step = UInt32(connection / SourceAddresses.connectionsEach)
    return IPAddress(version4: first + step % 254)
  }
}
