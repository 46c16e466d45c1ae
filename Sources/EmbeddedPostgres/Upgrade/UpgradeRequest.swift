/// What the administrator wants of `chirrup cluster upgrade`.
public struct UpgradeRequest: Sendable {
  public enum Method: String, Sendable, CaseIterable {
    /// Copies the files of the tables: the time of a copy of the folder.
    case pgUpgrade = "pg_upgrade"
    /// Writes all rows to files and loads them: for programs without pg_upgrade.
    case dump
  }

  /// The folder with the programs of the cluster's version; nil: found.
  public var from: String?
  /// The folder with the programs of the newer version; nil: the newest that is found.
  public var to: String?
  /// Nil: pg_upgrade, if both folders have its programs.
  public var method: Method?

  public init(from: String? = nil, to: String? = nil, method: Method? = nil) {
    self.from = from
    self.to = to
    self.method = method
  }
}

/// What an upgrade would do.
public struct UpgradePlan: Sendable {
  public var from: Int
  public var to: Int
  public var method: UpgradeRequest.Method
  /// The bytes of the cluster.
  public var bytes: Int64
  public var neededBytes: Int64
  public var freeBytes: Int64
  /// The gateway would not find the newer server by itself: this folder must be in its PATH.
  public var hiddenFolder: String?

  var old: ServerBinaries
  var new: ServerBinaries
  /// The programs that dump and load.
  var clients: String
}

/// What must be equal before and after an upgrade, read from a running server.
public struct ClusterCensus: Sendable, Equatable {
  public var encoding: String
  public var collation: String
  public var characterType: String
  /// `c`: the C library.
  public var provider: String
  /// All but the templates.
  public var databases: [String]
  /// For example `chirrup: rows of public.chats` and `120`.
  public var facts: [String: String]

  public init(
    encoding: String, collation: String, characterType: String, provider: String,
    databases: [String], facts: [String: String]
  ) {
    self.encoding = encoding
    self.collation = collation
    self.characterType = characterType
    self.provider = provider
    self.databases = databases
    self.facts = facts
  }

  /// As many differences are printed.
  static let differencesMax = 5

  /// The differences of the newer cluster's, as sentences.
  func differences(in new: ClusterCensus) -> [String] {
    let names = Set(facts.keys).union(new.facts.keys).sorted()
    return names.filter { facts[$0] != new.facts[$0] }.map { name in
      "\(name): \(facts[name] ?? "none") before, \(new.facts[name] ?? "none") after"
    }
  }
}

public enum UpgradeEvent: Sendable, Equatable {
  case began(String)
  /// Bytes of the folder that is being written; it may end with more or fewer than `of`.
  case progress(String, bytes: Int64, of: Int64)
  case note(String)
}

/// The work that needs a connection, at the URL of a running server.
public struct UpgradeWork {
  /// Called for the old cluster before it is read.
  public var prepare: (String) throws -> Void
  /// Called for the old cluster, then for the newer one.
  public var census: (String) throws -> ClusterCensus
  /// Called for the newer cluster when it equals the old one, before it takes its place.
  public var settle: (String) throws -> Void
  public var report: (UpgradeEvent) -> Void

  public init(
    prepare: @escaping (String) throws -> Void,
    census: @escaping (String) throws -> ClusterCensus,
    settle: @escaping (String) throws -> Void, report: @escaping (UpgradeEvent) -> Void
  ) {
    self.prepare = prepare
    self.census = census
    self.settle = settle
    self.report = report
  }
}
