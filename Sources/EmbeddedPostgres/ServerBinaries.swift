import Glibc

/// Finds the server's programs: distributions install them outside of PATH, in one folder per major
/// version.
struct ServerBinaries: Equatable, Sendable {
  static let oldestVersion = 14

  var folder: String
  var version: Int

  var initdb: String { folder + "/initdb" }
  var postgres: String { folder + "/postgres" }

  /// The programs of this major version; nil: of the newest one.
  static func find(version wanted: Int?) throws(ClusterFailure) -> ServerBinaries {
    let folders = candidates()
    var found: [ServerBinaries] = []
    for folder in folders {
      guard Folder.isExecutable(folder + "/initdb"), Folder.isExecutable(folder + "/postgres"),
        let version = version(in: folder), version >= oldestVersion
      else { continue }
      found.append(ServerBinaries(folder: folder, version: version))
    }
    guard let newest = found.max(by: { $0.version < $1.version }) else {
      throw .noServer(searched: folders.isEmpty ? ["PATH"] : folders)
    }
    guard let wanted else { return newest }
    guard let match = found.first(where: { $0.version == wanted }) else {
      throw .wrongVersion(data: wanted, found: Array(Set(found.map(\.version))).sorted())
    }
    return match
  }

  /// The programs of this major version (nil: any) in a folder that the administrator names; nil:
  /// found.
  static func of(
    version wanted: Int?, in folder: String?
  ) throws(ClusterFailure) -> ServerBinaries {
    guard let folder else { return try find(version: wanted) }
    let named = try inFolder(folder)
    if let wanted, named.version != wanted {
      throw .wrongVersion(data: wanted, found: [named.version])
    }
    return named
  }

  private static func inFolder(_ folder: String) throws(ClusterFailure) -> ServerBinaries {
    let path = try Folder.resolve(folder)
    guard Folder.isExecutable(path + "/initdb"), let version = version(in: path),
      version >= oldestVersion
    else { throw .noServer(searched: [folder]) }
    return ServerBinaries(folder: path, version: version)
  }

  /// Reads `postgres (PostgreSQL) 15.18 (Debian …)`, also `16beta1`.
  static func majorVersion(in text: String) -> Int? {
    guard
      let after = text.split(separator: " ").drop(while: { $0 != "(PostgreSQL)" }).dropFirst().first
    else { return nil }
    return Int(after.prefix { $0.isNumber })
  }

  private static func version(in folder: String) -> Int? {
    let program = Program(path: folder + "/postgres", arguments: ["--version"])
    guard let ended = try? program.run(seconds: 10), ended.succeeded else { return nil }
    return majorVersion(in: ended.output)
  }

  /// Folders in order of preference, each once, links resolved.
  private static func candidates() -> [String] {
    var folders: [String] = []
    if let ended = try? Program(path: "pg_config", arguments: ["--bindir"]).run(seconds: 10),
      ended.succeeded
    {
      folders.append(String(ended.output.prefix { $0 != "\n" }))
    }
    for root in ["/usr/lib/postgresql", "/usr/local/lib/postgresql"] {
      folders += Folder.children(of: root).map { "\(root)/\($0)/bin" }
    }
    folders += Folder.children(of: "/usr").filter { $0.hasPrefix("pgsql-") }.map {
      "/usr/\($0)/bin"
    }
    // SAFETY: the environment is read at start, before any thread could change it.
    if let path = unsafe getenv("PATH") {
      folders += unsafe String(cString: path).split(separator: ":").map(String.init)
    }
    var unique: [String] = []
    for folder in folders {
      // A symbolic link on PATH points to the folder with the other programs.
      guard let program = try? Folder.resolve(folder + "/postgres") else { continue }
      let real = program.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
      if !unique.contains(real) { unique.append(real) }
    }
    return unique
  }
}
