public import Primitives

/// The position of a row in a list that is ordered by time and id. A page of the list holds the
/// rows after a position.
public struct ListPosition: Sendable, Equatable {
  public var at: WallTime
  public var id: Identifier

  public init(at: WallTime, id: Identifier) {
    self.at = at
    self.id = id
  }
}
