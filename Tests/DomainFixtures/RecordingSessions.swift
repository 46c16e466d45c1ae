public import Chat
public import Conversations
public import Kernel
public import Primitives
public import Synchronization

/// Records which sessions changed; appends with plain statements what the loops append in batches.
public final class RecordingSessions: Sessions {
  public let hints = Mutex<[Identifier]>([])
  /// The outcome that `append` returns without storing anything, if set.
  public let scripted = Mutex<Outcome?>(nil)
  public let appended = Mutex<[Entry]>([])
  /// The result of `shutOut`.
  public let isConfirming = Mutex(true)

  private let database: Workers

  public init(_ database: Workers) { self.database = database }

  public func shutOut(_ ids: Set<Identifier>, after calls: Countdown) async -> Bool {
    let isConfirmed = await calls.isConfirmed
    return isConfirming.withLock { $0 } && isConfirmed
  }

  public func changed(session: Identifier) { hints.withLock { $0.append(session) } }

  public func append(
    session: Identifier, workspace: Identifier, id: Identifier, role: Role, kind: EntryKind,
    sender: Identifier?, senderName: [UInt8], body: [UInt8], payload: [UInt8]
  ) async -> Outcome {
    appended.withLock {
      $0.append(
        Entry(
          seq: 0, id: id, role: role, kind: kind, sender: sender, senderName: senderName,
          body: body, payload: payload, at: WallTime(microseconds: 0)))
    }
    if let outcome = scripted.withLock({ $0 }) { return outcome }
    return await database.store(
      session: session, workspace: workspace, id: id, role: String(describing: role.text),
      kind: String(describing: kind.text), sender: sender,
      name: String(decoding: senderName, as: UTF8.self), body: body,
      payload: payload.isEmpty ? nil : payload)
  }
}
