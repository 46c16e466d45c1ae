/// The connections of the gateways of one database, over all their loops. Each record names its
/// gateway.
public import Primitives

public protocol Connections: Sendable {
  /// The newest connections of this gateway that the filter accepts. Nil: a loop did not answer in
  /// time.
  func find(_ filter: ConnectionFilter) async -> [ConnectionRecord]?

  /// Those of all gateways. Nil: a loop of this one did not answer in time.
  func findEverywhere(_ filter: ConnectionFilter) async -> FoundConnections?

  /// Disconnects an open connection of any gateway. False: it has ended. Nil: its loop or gateway
  /// did not answer in time.
  func disconnect(
    _ record: ConnectionRecord, of workspace: Identifier?, reason: String
  ) async -> Bool?

  /// Adds the frames of the trace's connections to it until it ends. Nil: as for `find`.
  func trace(_ trace: ConnectionTrace) async -> Bool?
}

public struct FoundConnections: Sendable {
  public var records: [ConnectionRecord]
  /// The gateways that did not answer in time; their connections are missing.
  public var silentGateways: [Identifier]

  public init(records: [ConnectionRecord], silentGateways: [Identifier] = []) {
    self.records = records
    self.silentGateways = silentGateways
  }
}

/// A search for connections. Nil accepts any.
public struct ConnectionFilter: Sendable {
  /// A member sees one workspace, the operator of the instance all.
  public var workspace: Identifier?
  /// A visitor or an operator.
  public var party: Identifier?
  public var session: Identifier?
  public var address: String?
  public var id: Identifier?
  public var isEnded: Bool?
  /// Only connections that were opened before this one.
  public var before: Identifier?
  public var limit: Int

  public init(workspace: Identifier?, limit: Int) {
    self.workspace = workspace
    self.limit = limit
  }

  public func accepts(_ record: ConnectionRecord) -> Bool {
    if let workspace, record.party?.workspace != workspace { return false }
    if let party, record.party?.id != party { return false }
    if let session, !record.sessions.contains(session) { return false }
    if let address, record.address != address { return false }
    if let id, record.id != id { return false }
    if let isEnded, (record.end != nil) != isEnded { return false }
    if let before, record.id >= before { return false }
    return true
  }

  /// The newest of the records, at most `limit`.
  public func newest(of records: [ConnectionRecord]) -> [ConnectionRecord] {
    Array(records.sorted { $0.id > $1.id }.prefix(limit))
  }
}
