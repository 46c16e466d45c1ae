import Glibc
import Testing

@testable import EmbeddedPostgres

/// The states in which an upgrade that was killed leaves the folders, without a server of a newer
/// version. EndToEnd/cluster_upgrade.sh upgrades real clusters.
@Suite struct UpgradeTests {
  private func withHome(_ body: (UpgradeFolders) throws -> Void) throws {
    let home = try Folder.makeUnique("/tmp/chirrup-upgrade-test-")
    defer { _ = try? Folder.remove(home) }
    try body(UpgradeFolders(home: home))
  }

  private func make(_ path: String, version: Int, from origin: Int? = nil) throws {
    try Folder.make(path, mode: 0o700)
    try Folder.write("\(version)\n", to: path + "/PG_VERSION", for: nil)
    if let origin {
      try Folder.write("\(origin)\n", to: path + UpgradeFolders.marker, for: nil)
    }
  }

  @Test func `each moment at which an upgrade can be killed has its state`() throws {
    try withHome { folders in
      #expect(folders.state == .missing)
      try make(folders.data, version: 15)
      #expect(folders.state == .settled)
      try Folder.make(folders.dump, mode: 0o700)
      #expect(folders.state == .writing)
      try make(folders.new, version: 18)
      #expect(folders.state == .writing)
      try make(folders.new, version: 18, from: 15)
      #expect(folders.state == .writing, "the old cluster is still in use")
      try Folder.rename(folders.data, to: folders.kept(15))
      #expect(folders.state == .switching(from: 15))
      try Folder.rename(folders.new, to: folders.data)
      try Folder.remove(folders.dump)
      #expect(folders.state == .settled)
      #expect(UpgradeFolders.origin(of: folders.data) == 15)
      try Folder.rename(folders.data, to: folders.reverted(18))
      #expect(folders.state == .reverting(to: 15, from: 18))
      try Folder.rename(folders.kept(15), to: folders.data)
      #expect(folders.state == .settled)
    }
  }

  @Test func `a newer cluster that was not compared does not take the place of a missing one`()
    throws
  {
    try withHome { folders in
      try make(folders.new, version: 18)
      try make(folders.kept(15), version: 15)
      #expect(folders.state == .missing)
    }
  }

  @Test func `no gateway starts between the two renames`() throws {
    let directory = try Folder.makeUnique("/tmp/chirrup-upgrade-test-")
    // SAFETY: the path is copied into a C string for the call.
    unsafe _ = chmod(directory, 0o755)
    defer { _ = try? Folder.remove(directory) }
    let folders = UpgradeFolders(home: directory + "/postgres")
    try Folder.make(folders.home, mode: 0o700)
    if getuid() == 0 { try Folder.give(folders.home, to: Account.unprivileged()) }
    try make(folders.new, version: 18, from: 15)
    try make(folders.kept(15), version: 15)
    let cluster = PrivateCluster(dataDirectory: directory, survivesPowerLoss: false)
    #expect(throws: ClusterFailure.unfinishedUpgrade(directory: directory)) { try cluster.start() }
    #expect(!Folder.exists(folders.data), "no empty cluster was created")
    #expect(try cluster.planReversion() == ReversionPlan(from: 18, to: 15, isUndo: true))
    #expect(try cluster.revert(from: nil) { _ in } == nil)
    #expect(folders.state == .settled)
    #expect(UpgradeFolders.version(of: folders.data) == 15)
    #expect(!Folder.exists(folders.new))
  }

  @Test func `without a newer version, a cluster or an old one, the reason is given`() throws {
    let directory = try Folder.makeUnique("/tmp/chirrup-upgrade-test-")
    defer { _ = try? Folder.remove(directory) }
    let cluster = PrivateCluster(dataDirectory: directory, survivesPowerLoss: false)
    #expect(throws: ClusterFailure.noCluster(directory: directory)) {
      try cluster.planUpgrade(UpgradeRequest())
    }
    let newest = try ServerBinaries.find(version: nil)
    try make(directory + "/postgres/data", version: newest.version)
    #expect(
      throws: ClusterFailure.noNewerServer(data: newest.version, newest: newest.version)
    ) { try cluster.planUpgrade(UpgradeRequest()) }
    #expect(throws: ClusterFailure.noServer(searched: ["/usr/bin"])) {
      try cluster.planUpgrade(UpgradeRequest(to: "/usr/bin"))
    }
    #expect(
      throws: ClusterFailure.noWayBack(
        reason: "chirrup cluster upgrade has not moved this cluster")
    ) { try cluster.planReversion() }
    try Folder.write(
      "\(newest.version - 1)\n", to: directory + "/postgres/data" + UpgradeFolders.marker, for: nil)
    #expect(throws: ClusterFailure.self) { try cluster.planReversion() }
  }

  @Test func `a dump needs twice the space of a copy`() {
    let copy = PrivateCluster.space(bytes: 1 << 30, .pgUpgrade)
    #expect(copy == (1 << 30) + BaseBackup.reserveBytes)
    #expect(PrivateCluster.space(bytes: 1 << 30, .dump) == copy + (1 << 30))
  }

  @Test func `the comparison names what differs`() {
    func census(_ facts: [String: String]) -> ClusterCensus {
      ClusterCensus(
        encoding: "UTF8", collation: "C", characterType: "C", provider: "c", databases: [],
        facts: facts)
    }
    let before = census(["a": "1", "b": "2", "c": "3"])
    #expect(before.differences(in: before) == [])
    #expect(
      before.differences(in: census(["a": "1", "b": "3", "d": "4"])) == [
        "b: 2 before, 3 after", "c: 3 before, none after", "d: none before, 4 after",
      ])
  }
}
