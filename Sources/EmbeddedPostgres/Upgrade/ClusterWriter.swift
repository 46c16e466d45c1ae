import Glibc

/// Writes the newer cluster of an upgrade.
struct ClusterWriter {
  /// An upgrade that takes longer is ended.
  static let secondsMax = 86_400

  let plan: UpgradePlan
  let folders: UpgradeFolders
  let account: Account?
  /// Of the servers that pg_upgrade starts.
  let socketFolder: String
  let report: (UpgradeEvent) -> Void

  /// Throws unless the cluster's user may run the programs.
  func checkReachable() throws(ClusterFailure) {
    for folder in [plan.old.folder, plan.new.folder, plan.clients] {
      let program = Program(path: "test", arguments: ["-x", folder + "/."], account: account)
      guard try program.run(seconds: 10).succeeded else {
        throw .cannotUpgrade(
          reason: "the database's user (id \(account.map { "\($0.user)" } ?? "?")) may not enter "
            + "\(folder); give it the permission, or move the programs")
      }
    }
  }

  /// Creates an empty cluster with the old one's encoding, locale, checksums and size of WAL files.
  func create(like old: ClusterCensus) throws(ClusterFailure) {
    guard old.provider == "c" else {
      throw .cannotUpgrade(
        reason: "its locale is not that of the C library (provider \(old.provider)); use "
          + "pg_upgrade by hand")
    }
    let control = try run(plan.old.folder, "pg_controldata", [folders.data])
    func value(_ name: String) -> Int64? {
      control.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        .flatMap { Int64($0.drop { $0 != ":" }.dropFirst().filter { !$0.isWhitespace }) }
    }
    guard let checksums = value("Data page checksum version"),
      let segment = value("Bytes per WAL segment")
    else { throw .program(name: "pg_controldata", output: control) }
    report(.began("creating a cluster of PostgreSQL \(plan.to)"))
    var arguments = [
      "-D", folders.new, "-U", "chirrup", "-A", "trust", "-E", old.encoding,
      "--lc-collate=\(old.collation)", "--lc-ctype=\(old.characterType)", "--locale=C.UTF-8",
      "--wal-segsize=\(segment >> 20)",
    ]
    if checksums != 0 {
      arguments.append("--data-checksums")
    } else if plan.to >= ClusterWriter.firstWithChecksums {
      arguments.append("--no-data-checksums")
    }
    try run(plan.new.folder, "initdb", arguments)
  }

  /// From this version on, initdb enables checksums by default.
  private static let firstWithChecksums = 18

  func runUpgrade() throws(ClusterFailure) {
    try run(
      plan.new.folder, "pg_upgrade",
      [
        "-b", plan.old.folder, "-B", plan.new.folder, "-d", folders.data, "-D", folders.new, "-U",
        "chirrup", "--socketdir", socketFolder,
      ], watching: folders.new, of: plan.bytes)
  }

  // MARK: Dump and load

  func dump(_ census: ClusterCensus, at url: String) throws(ClusterFailure) {
    try Folder.make(folders.dump, mode: 0o700)
    try Folder.give(folders.dump, to: account)
    try run(
      plan.clients, "pg_dumpall",
      ["--globals-only", "--file", folders.dump + "/roles.sql", "--dbname", url])
    for (index, database) in census.databases.enumerated() {
      try run(
        plan.clients, "pg_dump",
        [
          "--format=custom", "--compress=1", "--file", file(index), "--dbname",
          PrivateCluster.url(url, of: database),
        ], watching: folders.dump, of: plan.bytes)
    }
  }

  func load(_ census: ClusterCensus, at url: String) throws(ClusterFailure) {
    let server = PrivateCluster.url(url, of: "postgres")
    // Without ON_ERROR_STOP: the first role exists already. The comparison finds what is missing.
    try run(
      plan.clients, "psql",
      ["--no-psqlrc", "--quiet", "--file", folders.dump + "/roles.sql", "--dbname", server])
    for (index, database) in census.databases.enumerated() {
      try run(
        plan.clients, "pg_restore",
        (database == "postgres" ? [] : ["--create"]) + [
          "--exit-on-error", "--dbname", server, file(index),
        ], watching: folders.new, of: plan.bytes)
    }
  }

  private func file(_ index: Int) -> String { "\(folders.dump)/\(index).dump" }

  // MARK: Settings

  /// The files of settings go with the cluster, as far as the newer version accepts them.
  func carrySettings() throws(ClusterFailure) {
    let names = ["postgresql.conf", "postgresql.auto.conf", "pg_hba.conf", "pg_ident.conf"]
    for name in names {
      try copy(folders.new + "/" + name, to: folders.new + "/" + name + ".new")
      try copy(folders.data + "/" + name, to: folders.new + "/" + name)
    }
    let check = Program(
      path: plan.new.postgres, arguments: ["-D", folders.new, "-C", "max_connections"],
      account: account)
    let ended = try check.run(seconds: 60)
    if !ended.succeeded {
      for name in names {
        try copy(folders.data + "/" + name, to: "\(folders.new)/\(name).\(plan.from)")
        try copy(folders.new + "/" + name + ".new", to: folders.new + "/" + name)
      }
      try Tuning.append(to: folders.new + "/postgresql.conf")
      let reason = ended.output.split(separator: "\n").first.map(String.init) ?? "no reason"
      report(
        .note(
          "PostgreSQL \(plan.to) does not accept the settings of the old cluster (\(reason)); it "
            + "has Chirrup's own, and the old ones are in data/postgresql.conf.\(plan.from)"))
    }
    for name in names { try Folder.remove(folders.new + "/" + name + ".new") }
  }

  private func copy(_ path: String, to target: String) throws(ClusterFailure) {
    try run("/bin", "cp", ["--no-target-directory", "--", path, target])
  }

  // MARK: Programs

  /// Runs a program as the cluster's user, and reports the bytes of a folder that it writes.
  @discardableResult
  private func run(
    _ folder: String, _ name: String, _ arguments: [String], watching written: String? = nil,
    of total: Int64 = 0
  ) throws(ClusterFailure) -> String {
    var program = Program(path: folder + "/" + name, arguments: arguments, account: account)
    program.folder = folders.home
    guard let written else { return try program.runChecked(seconds: ClusterWriter.secondsMax) }
    report(.began("running \(name)"))
    var watch = FolderWatch(written)
    return try program.runChecked(seconds: ClusterWriter.secondsMax) {
      if let bytes = watch.bytes() { report(.progress(name, bytes: bytes, of: total)) }
    }
  }
}
