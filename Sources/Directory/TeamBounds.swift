/// Bounds of a workspace's teams, which the routes and the imports keep.
public enum TeamBounds {
  /// The most teams of one workspace: each is a line of the queue, which one statement reads.
  public static let countMax: Int64 = 50
  public static let membersMax = 200
}
