/// The rows of another system that are changed by an import, or left out: their number by reason,
/// and the ids of the first ones. No text of a message and no address is in it.
public struct ImportFindings: Sendable, Equatable {
  /// Ids that are kept for each reason.
  public static let idsMax = 10
  /// Reasons that are kept; the reasons of the code are fewer.
  public static let reasonsMax = 64

  public struct Finding: Sendable, Equatable {
    public var table: String
    /// The reason, and what is done with the rows.
    public var reason: String
    public var count: Int64
    /// The first `idsMax` rows, by the other system's id.
    public var ids: [String]
  }

  /// In the order in which they were found.
  public private(set) var list: [Finding] = []

  mutating func add(_ table: String, _ row: String, _ reason: String) {
    let known = list.firstIndex { $0.table == table && $0.reason == reason }
    guard let place = known else {
      guard list.count < Self.reasonsMax else { return }
      return list.append(Finding(table: table, reason: reason, count: 1, ids: [row]))
    }
    list[place].count += 1
    if list[place].ids.count < Self.idsMax { list[place].ids.append(row) }
  }
}
