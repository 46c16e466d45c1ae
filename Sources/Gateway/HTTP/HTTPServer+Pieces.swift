import Primitives
import REST
import Wire

/// Bodies that are sent piece by piece (`APIResponse.pieces`): at most two pieces of a body are in
/// memory, however large it is and however slowly its client reads.
extension HTTPServer {
  /// Sends each piece when the client has taken most of what was sent before.
  static func send(_ pieces: BodyPieces, to id: SocketID, by mailbox: Mailbox) async {
    let reader = PieceReader()
    mailbox.post(.pieces(socket: id, PieceHold(reader), byteCount: pieces.byteCount))
    var offset: Int64 = 0
    while offset < pieces.byteCount, await reader.isWanted() {
      guard let bytes = await pieces.next(offset), !bytes.isEmpty else { break }
      offset += Int64(bytes.count)
      mailbox.post(.piece(socket: id, bytes))
    }
    mailbox.post(.piece(socket: id, nil))
  }

  /// The body of the response before comes in pieces.
  mutating func beginPieces(
    _ id: SocketID, _ hold: PieceHold, _ byteCount: Int64, _ sockets: inout SocketTable,
    _ turn: Turn
  ) {
    guard isWaiting(id, sockets) else { return }
    sockets[id.index].exchange.beginPieces(hold, byteCount, now: turn.now)
    unsent.append(id)
  }

  /// The next piece; nil: there is none.
  mutating func takePiece(
    _ id: SocketID, _ bytes: [UInt8]?, _ sockets: inout SocketTable, _ turn: Turn
  ) {
    guard isWaiting(id, sockets), sockets[id.index].exchange.hasPieces else { return }
    if let bytes {
      sockets[id.index].exchange.takePiece(bytes)
    } else {
      sockets[id.index].exchange.endPieces(now: turn.now)
    }
    unsent.append(id)
  }

  private func isWaiting(_ id: SocketID, _ sockets: borrowing SocketTable) -> Bool {
    guard sockets.contains(id), sockets.isAlive(id.index), case .http = sockets[id.index].phase
    else { return false }
    return sockets[id.index].exchange.isBusy
  }
}
