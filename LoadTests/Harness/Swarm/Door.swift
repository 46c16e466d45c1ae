/// Where a swarm connects, and what is said at the door: one opening handshake (RFC 6455 §4.1) for
/// all its connections, made once.
///
/// The key is the same for all of them: there is no cache between a load test and its server that
/// could mistake one answer for another's. The first answer is judged by every rule, the others by
/// their status and accept value.
import Kernel
import Primitives
import Wire

struct Door {
  let target: Target
  /// Bytes go both ways without any handshake or frame.
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

  /// Nil while the head is not whole; otherwise its length, or what is wrong with it.
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
        case .accepted: return .failure(Refusal(label: "subprotocol that was not asked for"))
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
  /// The gateway's chat, which has a subprotocol; a peer's echo or topic has none.
  var isChat: Bool { path.hasPrefix("/api/v1/ws") }
}

/// The addresses of this machine that connections come from.
///
/// An address has 28,000 ports for one server, a connection that has ended keeps its port for a
/// minute, and the search for a free one becomes slow long before. All of 127.0.0.0/8 is this
/// machine, so each process takes addresses of its own there, and the next one for every 10,000
/// connections. To another machine it is the kernel that chooses.
struct SourceAddresses {
  private let first: UInt32
  private let isLoopback: Bool

  private static let connectionsEach = 10_000

  init(to target: Target, process: Int32) {
    isLoopback = target.address.isLoopback && target.address.isVersion4
    // 127.x.y.1 to .254: 16 bits of the process id are x and y, and x is not 0.
    first = 0x7F00_0001 | UInt32(truncatingIfNeeded: process) << 8 & 0x00FF_FF00 | 0x0010_0000
  }

  subscript(connection: Int) -> IPAddress? {
    guard isLoopback else { return nil }
    let step = UInt32(connection / SourceAddresses.connectionsEach)
    return IPAddress(version4: first + step % 254)
  }
}
