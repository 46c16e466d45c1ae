/// The sent and received messages of connections that use a ring; pure, bytes go in and a count
/// comes out.
///
/// A message's length and order are known from the frames alone. The text is compared for one read
/// in 64, or always.
import Primitives
import Wire

struct RingVerifier {
  struct Peer {
    var walker = FrameWalker()
    /// Messages whose bytes were added to `owed`, and returned messages.
    var sent = 0
    var received = 0
    /// Received payload bytes of an incomplete message.
    var partial = 0
    /// The offset of the next byte to send in the ring, and the number of bytes to send.
    var position = 0
    var owed = 0
  }

  let ring: FrameRing
  var peers: [Peer]
  /// Messages that all connections receive; nil where each receives its own.
  var published: Int?
  /// Returned messages of all connections.
  private(set) var total = 0
  private(set) var verified = 0
  private(set) var problems: [String] = []
  /// Complete control frames that need an answer.
  private(set) var controls: [(peer: Int, opcode: Opcode, payload: [UInt8])] = []

  private let verifiesAll: Bool
  private var unverifiedReads = 0
  private var pieces: [Int: [UInt8]] = [:]

  /// One read in this many is compared.
  private static let sampleEvery = 64
  private static let problemsMax = 10

  init(ring: FrameRing, connections: Int, verifiesAll: Bool) {
    self.ring = ring
    self.verifiesAll = verifiesAll
    peers = Array(repeating: Peer(), count: connections)
  }

  /// Takes the received bytes of a connection; returns the number of messages that they complete.
  mutating func take(_ index: Int, _ bytes: RawSpan) -> Int {
    let before = peers[index].received
    if let shape = ring.shape {
      takeFrames(index, bytes, shape)
    } else {
      takeBare(index, bytes)
    }
    let count = peers[index].received - before
    total += count
    if peers[index].received > published ?? peers[index].sent {
      note("connection \(index): more messages returned than were sent")
    }
    return count
  }

  mutating func takeControls() -> [(peer: Int, opcode: Opcode, payload: [UInt8])] {
    defer { controls = [] }
    return controls
  }

  mutating func note(_ problem: String) {
    if problems.count < RingVerifier.problemsMax { problems.append(problem) }
  }

  private mutating func takeFrames(_ index: Int, _ bytes: RawSpan, _ shape: FrameShape) {
    let isSampled = isNextSampled()
    var offset = 0
    while offset < bytes.byteCount {
      let start = offset
      let count = peers[index].walker.takeWhole(shape, bytes, &offset)
      if count > 0 {
        if isSampled { compare(index, bytes, from: start, count: verifiesAll ? count : 1, shape) }
        peers[index].received &+= count
        continue
      }
      do throws(FrameFault) {
        switch try peers[index].walker.next(bytes, &offset) {
        case .needMoreBytes: return
        case .data(let range, let isEnd):
          takePiece(index, bytes.extracting(range), isEnd: isEnd, isSampled)
        case .control(let opcode, let range, let isEnd):
          takeControl(index, opcode, bytes.extracting(range), isEnd: isEnd)
        }
      } catch {
        return note("connection \(index): broken frame: \(error.reason)")
      }
    }
  }

  private mutating func isNextSampled() -> Bool {
    unverifiedReads &+= 1
    guard verifiesAll || unverifiedReads == RingVerifier.sampleEvery else { return false }
    unverifiedReads = 0
    return true
  }

  private mutating func compare(
    _ index: Int, _ bytes: RawSpan, from start: Int, count: Int, _ shape: FrameShape
  ) {
    for position in 0..<count {
      let payload = start + position * shape.frameByteCount + shape.headerByteCount
      let number = peers[index].received + position
      verified += 1
      if !ring.matches(
        bytes.extracting(payload..<payload + shape.payloadByteCount), number: number, offset: 0)
      {
        note("connection \(index): message \(number) returned with another text")
      }
    }
  }

  private mutating func takePiece(
    _ index: Int, _ piece: RawSpan, isEnd: Bool, _ isSampled: Bool
  ) {
    let number = peers[index].received
    if isSampled, !ring.matches(piece, number: number, offset: peers[index].partial) {
      note("connection \(index): message \(number) returned with another text")
    }
    peers[index].partial += piece.byteCount
    guard isEnd else { return }
    if peers[index].partial != ring.payloadByteCount {
      note("connection \(index): message \(number) returned with \(peers[index].partial) bytes")
    }
    if isSampled { verified += 1 }
    peers[index].partial = 0
    peers[index].received += 1
  }

  private mutating func takeControl(
    _ index: Int, _ opcode: Opcode, _ piece: RawSpan, isEnd: Bool
  ) {
    var payload = pieces.removeValue(forKey: index) ?? []
    payload.append(piece)
    if isEnd { controls.append((index, opcode, payload)) } else { pieces[index] = payload }
  }

  /// Without frames a message is a fixed number of bytes.
  private mutating func takeBare(_ index: Int, _ bytes: RawSpan) {
    let size = ring.payloadByteCount
    guard isNextSampled() else {
      let (whole, rest) = (peers[index].partial + bytes.byteCount).quotientAndRemainder(
        dividingBy: size)
      peers[index].received += whole
      peers[index].partial = rest
      return
    }
    var offset = 0
    while offset < bytes.byteCount {
      let partial = peers[index].partial
      let end = min(offset + size - partial, bytes.byteCount)
      if !ring.matches(
        bytes.extracting(offset..<end), number: peers[index].received, offset: partial)
      {
        note("connection \(index): message \(peers[index].received) returned with other bytes")
      }
      verified += 1
      let isWhole = partial + end - offset == size
      peers[index].received += isWhole ? 1 : 0
      peers[index].partial = isWhole ? 0 : partial + end - offset
      offset = end
    }
  }
}
