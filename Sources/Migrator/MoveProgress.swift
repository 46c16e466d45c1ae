import Primitives

/// The progress of a long data move: rows, rate and remaining time. Pure.
public struct MoveProgress: Sendable, Equatable {
  public var title: String
  public var rowsDone: Int64 = 0
  /// The number of rows at the start; `rowsDone` may exceed it if rows were added since. Nil: they
  /// were not counted, because that takes as long as the move.
  public var rowsTotal: Int64?
  public var milliseconds: Int64 = 0
  /// What follows and is not in the remaining time, because nobody has counted it.
  public var next: String?

  public init(title: String, rowsTotal: Int64?) {
    self.title = title
    self.rowsTotal = rowsTotal
  }

  public var rowsPerSecond: Int64 { rowsDone * 1000 / max(1, milliseconds) }

  /// The total, unless it is unknown or has turned out to be too low.
  public var expectedRows: Int64? { rowsTotal.flatMap { rowsDone <= $0 ? $0 : nil } }

  /// Estimated from the average rate so far; nil while there is nothing to estimate it from.
  public var secondsLeft: Int64? {
    expectedRows.flatMap {
      RemainingTime.seconds(done: rowsDone, total: $0, milliseconds: milliseconds)
    }
  }
}

extension MoveProgress: CustomStringConvertible {
  public var description: String {
    let then = next.map { ", then \($0)" } ?? ""
    return "\(title): \(rowsDone)\(expectedRows.map { " of \($0)" } ?? "") rows, "
      + "\(rowsPerSecond) a second" + (secondsLeft.map { ", about \($0) s left\(then)" } ?? "")
  }
}
