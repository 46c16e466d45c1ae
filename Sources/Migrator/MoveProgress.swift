/// The progress of a long data move: rows, rate and remaining time. Pure.
public struct MoveProgress: Sendable, Equatable {
  public var title: String
  public var rowsDone: Int64 = 0
  /// The number of rows at the start; `rowsDone` may exceed it if rows were added since.
  public var rowsTotal: Int64
  public var milliseconds: Int64 = 0

  public init(title: String, rowsTotal: Int64) {
    self.title = title
    self.rowsTotal = rowsTotal
  }

  public var rowsPerSecond: Int64 { rowsDone * 1000 / max(1, milliseconds) }

  /// Estimated from the average rate so far.
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
