/// How far a long move of data is: what a person who waits for it wants to know. Pure.
public struct MoveProgress: Sendable, Equatable {
  public var title: String
  public var rowsDone: Int64 = 0
  /// As counted at the start; rows that came since may make it more.
  public var rowsTotal: Int64
  public var milliseconds: Int64 = 0

  public init(title: String, rowsTotal: Int64) {
    self.title = title
    self.rowsTotal = rowsTotal
  }

  public var rowsPerSecond: Int64 { rowsDone * 1000 / max(1, milliseconds) }

  /// At the rate so far; 0 when as much as was counted is done.
  public var secondsLeft: Int64 {
    max(0, rowsTotal - rowsDone) * milliseconds / max(1, rowsDone) / 1000
  }
}

extension MoveProgress: CustomStringConvertible {
  public var description: String {
    "\(title): \(rowsDone) of \(max(rowsTotal, rowsDone)) rows, \(rowsPerSecond) a second, "
      + "\(secondsLeft) s left"
  }
}
