/// The statements that a connection has prepared. The name of one is used once it is confirmed.
struct PreparedStatements {
  /// The same text with other parameter types (a NULL has none), or for another role, is a separate
  /// statement.
  struct Key: Hashable {
    var text: UInt
    var types: [UInt32]
    var isScoped: Bool
  }

  struct Statement {
    var name: String
    /// Whether the server has confirmed it.
    var isConfirmed = false
  }

  private var statements: [Key: Statement] = [:]
  private var names = 0
  /// Whether the statement that enters a scope is prepared.
  var isScopePrepared = false

  subscript(key: Key) -> Statement? { statements[key] }

  /// - Returns: a name that no statement of this connection has had.
  mutating func add(_ key: Key) -> String {
    names += 1
    let name = "q\(names)"
    statements[key] = Statement(name: name)
    return name
  }

  mutating func confirm(_ key: Key) { statements[key]?.isConfirmed = true }

  mutating func remove(_ key: Key) { statements[key] = nil }

  /// The connection is lost, or the tables of statements have changed.
  mutating func removeAll() { statements.removeAll() }
}
