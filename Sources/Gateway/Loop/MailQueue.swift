/// Mail that a loop has taken out of its mailbox and not handled yet, since a turn may have time
/// for a part of it only.
struct MailQueue {
  private var items: [LoopMail] = []
  private var takenCount = 0

  var isEmpty: Bool { takenCount == items.count }

  /// Empties the mailbox; its mail follows what is left in the queue.
  mutating func fill(from mailbox: Mailbox) {
    guard isEmpty else {
      var more: [LoopMail] = []
      mailbox.drain(into: &more)
      items += more
      return
    }
    items.removeAll(keepingCapacity: true)
    takenCount = 0
    mailbox.drain(into: &items)
  }

  mutating func next() -> LoopMail? {
    guard !isEmpty else { return nil }
    defer {
      takenCount += 1
      if isEmpty {
        items.removeAll(keepingCapacity: true)
        takenCount = 0
      }
    }
    return items[takenCount]
  }
}
