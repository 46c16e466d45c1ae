import CMigrations

extension Migration {
  /// The files of Sources/CMigrations/sql as embedded in this binary, and the faults of those that
  /// cannot be parsed.
  public static func embedded() -> (migrations: [Migration], faults: [ChainFault]) { parsed }

  private static let parsed = {
    var migrations: [Migration] = []
    var faults: [ChainFault] = []
    var count: UInt = 0
    // SAFETY: the table has `count` entries, which are valid for the life of the process; each name
    // ends with NUL, and `bytes` has `length` bytes.
    let table = unsafe UnsafeBufferPointer(start: chirrup_migrations(&count), count: Int(count))
    for index in 0..<Int(count) {
      let entry = unsafe table[index]
      let revision = unsafe String(cString: entry.name)
      let bytes = unsafe UnsafeBufferPointer(start: entry.bytes, count: Int(entry.length))
      do throws(ChainFault) {
        migrations.append(
          try Migration(revision: revision, text: unsafe String(decoding: bytes, as: UTF8.self)))
      } catch {
        faults.append(error)
      }
    }
    return (migrations: migrations, faults: faults)
  }()
}

extension Chain {
  /// All migrations of this binary.
  public static func embedded() throws(MigrationFailure) -> Chain {
    let (migrations, faults) = Migration.embedded()
    guard faults.isEmpty else { throw .chain(faults) }
    return try Chain(migrations)
  }
}
