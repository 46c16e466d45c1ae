/// `chirrup cluster`: the private PostgreSQL as a whole.
import ArgumentParser
import DataRetention
import EmbeddedPostgres
import Kernel
import Postgres
import Primitives
import Settings

struct ClusterCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cluster", abstract: "Move the private PostgreSQL to a newer major version.",
    subcommands: [Upgrade.self])

  struct Upgrade: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Move the private PostgreSQL in --data-dir to a newer major version, or back.",
      discussion: """
        Needs the programs of both versions, and no gateway that runs. Writes a new cluster beside \
        the old one with pg_upgrade, or with a dump; compares roles, privileges and the rows of \
        each table; then exchanges the two. The old one stays in postgres/data.VERSION: the way \
        back. Can be killed at any time: the next run says what it found, and continues. Without \
        --yes it only prints what it would do.
        """)

    enum Method: String, ExpressibleByArgument {
      case pgUpgrade = "pg_upgrade"
      case dump
    }

    @OptionGroup var options: AdministrationOptions
    @Option(
      help: ArgumentHelp(
        "The programs of the cluster's version (default: found).", valueName: "folder"))
    var fromBin: String?
    @Option(
      help: ArgumentHelp(
        "The programs of the newer version (default: the newest).", valueName: "folder"))
    var toBin: String?
    @Option(
      help: ArgumentHelp(
        "pg_upgrade or dump (default: pg_upgrade, if its programs are there).",
        valueName: "method"))
    var method: Method?
    @Flag(help: "Take the way back: use the old cluster again, and keep the newer one beside it.")
    var revert = false
    @Flag(help: "Do it; without this, only print what would be done.") var yes = false

    func run() async throws {
      try await options.perform { settings, output in
        guard settings.isPrivateDatabase else { throw ClusterCommand.foreignDatabase }
        PrivateCluster.forgetClientSettings()
        let cluster = PrivateCluster(dataDirectory: settings.dataDirectory)
        if revert {
          try takeBack(cluster, output)
        } else {
          try upgrade(cluster, output)
        }
      }
    }

    private func upgrade(_ cluster: PrivateCluster, _ output: CommandOutput) throws {
      let request = UpgradeRequest(
        from: fromBin, to: toBin,
        method: method.flatMap { UpgradeRequest.Method(rawValue: $0.rawValue) })
      if yes {
        let start = SystemClock.now()
        // Nil if only the last step of an earlier upgrade is left.
        let plan = try? cluster.planUpgrade(request)
        let report = ClusterCommand.reporter(output)
        let kept = try cluster.upgrade(
          request,
          UpgradeWork(
            prepare: ClusterCommand.prepare, census: { try ClusterCensus(at: $0) },
            settle: ClusterCommand.settle, report: report))
        let milliseconds = SystemClock.now().milliseconds(since: start)
        output.result(
          "the cluster was upgraded in \(seconds(milliseconds)) s; the old one is in \(kept)",
          [
            ("upgraded", .bool(true)), ("old", .text(kept)),
            ("milliseconds", .number(milliseconds)),
          ])
        output.note(
          "Start the gateway. The way back, without what is written from now on: chirrup cluster "
            + "upgrade --revert. When you do not need it any more: rm -r \(kept)")
        noteFolder(of: plan, output)
        return
      }
      let plan = try cluster.planUpgrade(request)
      output.result(
        "PostgreSQL \(plan.from) to \(plan.to) with \(plan.method.rawValue): "
          + "\(mebibytes(plan.bytes)), needs \(mebibytes(plan.neededBytes)) of "
          + "\(mebibytes(plan.freeBytes)) that are free",
        [
          ("from", .number(Int64(plan.from))), ("to", .number(Int64(plan.to))),
          ("method", .text(plan.method.rawValue)), ("bytes", .number(plan.bytes)),
          ("needed", .number(plan.neededBytes)), ("free", .number(plan.freeBytes)),
        ])
      noteFolder(of: plan, output)
      throw CommandFailure(needsConfirmation)
    }

    private func noteFolder(of plan: UpgradePlan?, _ output: CommandOutput) {
      guard let plan, let folder = plan.hiddenFolder else { return }
      output.note(
        "The gateway finds PostgreSQL \(plan.to) only with \(folder) in its PATH.",
        [("path", .text(folder))])
    }

    private func takeBack(_ cluster: PrivateCluster, _ output: CommandOutput) throws {
      let plan = try cluster.planReversion()
      output.note(
        plan.isUndo
          ? "An upgrade of the cluster of PostgreSQL \(plan.to) was interrupted; what it wrote is "
            + "removed, and nothing is lost."
          : "PostgreSQL \(plan.from) to \(plan.to): what was written since the upgrade stays in "
            + "the newer cluster only; clients discard their copies of it.",
        [
          ("from", .number(Int64(plan.from))), ("to", .number(Int64(plan.to))),
          ("undo", .bool(plan.isUndo)),
        ])
      guard yes else { throw CommandFailure(needsConfirmation) }
      let newer = try cluster.revert(from: fromBin) { url in
        let connection = try BlockingConnection(url)
        if try StoredData.exists(in: connection) { try StoredData(connection).renewEpoch() }
      }
      output.result(
        "the cluster is that of PostgreSQL \(plan.to)"
          + (newer.map { "; the newer one is in \($0)" } ?? ""),
        [("reverted", .bool(true)), ("newer", newer.map { .text($0) } ?? .null)])
    }
  }

  static let foreignDatabase = CommandFailure(
    """
    database_url is set, and this command moves only the private PostgreSQL in --data-dir. Upgrade \
    a PostgreSQL of your own as its documentation says; the gateway notices it, and its clients \
    load their conversations again
    """)

  private static func reporter(_ output: CommandOutput) -> (UpgradeEvent) -> Void {
    { event in
      switch event {
      case .began(let step): output.note("  \(step)", [("step", .text(step))])
      case .progress(let step, let bytes, let total):
        output.note(
          "  \(step): \(mebibytes(bytes)) of about \(mebibytes(total))",
          [("step", .text(step)), ("bytes", .number(bytes)), ("of", .number(total))])
      case .note(let text): output.note(text, [("note", .text(text))])
      }
    }
  }

  /// A restore that no gateway has noticed yet is noticed here: afterwards it could not be told
  /// from the upgrade.
  private static func prepare(_ url: String) throws {
    let connection = try BlockingConnection(url)
    if try StoredData.exists(in: connection) { try StoredData.renewIfRestored(connection) }
  }

  /// The planner needs statistics, which not every way of upgrading carries over. The cluster
  /// equals the old one, so clients keep their copies.
  private static func settle(_ url: String) throws {
    for database in try ClusterCensus.databases(at: url) {
      try BlockingConnection(PrivateCluster.url(url, of: database)).execute(script: "ANALYZE")
    }
    let connection = try BlockingConnection(url)
    if try StoredData.exists(in: connection) { try StoredData(connection).adoptFingerprint() }
  }
}
