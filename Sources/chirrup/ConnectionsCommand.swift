/// `chirrup connections`: the connections of the gateways of a database, open and recently ended,
/// of all workspaces.
import ArgumentParser
import Directory
import JSON
import Postgres
import Primitives
import Settings

struct ConnectionsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "connections",
    abstract: "List connections, with the reason of each end; disconnect and trace clients.",
    discussion: """
      Asks the gateway on this machine at admin_listen, which asks the other gateways of its \
      database. Each knows its own connections: the open ones, and of each event loop up to 4096 \
      that ended within 24 hours. A gateway that does not answer within 2 seconds is named. The \
      log has all ends (config/LOG.md). A trace is of this gateway only.
      """,
    subcommands: [List.self, Show.self, Kick.self, Trace.self])

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "List connections, newest first.")

    @OptionGroup var options: AdministrationOptions
    @Option(help: ArgumentHelp("Only in this workspace.", valueName: "name"))
    var workspace: String?
    @Option(help: ArgumentHelp("Only of this visitor or operator.", valueName: "id"))
    var party: String?
    @Option(help: ArgumentHelp("Only those that followed this session.", valueName: "id"))
    var session: String?
    @Option(help: ArgumentHelp("Only from this IP address.", valueName: "address"))
    var address: String?
    @Option(help: ArgumentHelp("open or ended; both without it.", valueName: "state"))
    var state: String?
    @Option(help: ArgumentHelp("The most to list, 1 to 10000.", valueName: "count"))
    var limit = 100

    /// The most rows of one request.
    private static let pageMax = 200

    func validate() throws {
      guard (1...10_000).contains(limit) else {
        throw ValidationError("--limit must be 1 to 10000")
      }
    }

    func run() async throws {
      try await options.ask { client, connection, output in
        var query = [
          ("party", party), ("session", session), ("address", address), ("state", state),
        ]
        if let workspace {
          query.append(("workspace", "\(try connection.workspace(named: workspace).id)"))
        }
        var left = limit
        var last: String?
        var silent: Set<String> = []
        while left > 0 {
          let wanted = min(left, List.pageMax)
          let (rows, missing) = try client.rows(query + [("before", last), ("limit", "\(wanted)")])
          for row in rows { output.print(row) }
          for gateway in missing where silent.insert(gateway).inserted {
            output.note(
              "The gateway \(gateway) does not answer: its connections are missing.",
              [("silent_gateway", .text(gateway))])
          }
          left -= wanted
          last = rows.last?["id"]?.string
          if rows.count < wanted { break }
        }
        if left == limit - min(limit, List.pageMax), last == nil {
          output.note("No connections.")
        }
      }
    }
  }

  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print one connection with all its fields.")

    @OptionGroup var options: AdministrationOptions
    @Argument(help: "The connection's id, as in the log.") var id: String

    func run() async throws {
      try await options.ask { client, _, output in
        let answer = try client.request("GET", "/connections/\(id.percentEncoded())")
        guard let fields = JSONValue(answer)?["connection"]?.object else {
          throw CommandFailure("the gateway's answer cannot be read")
        }
        let lines = fields.sorted { $0.key < $1.key }.filter { $0.value != .null }
          .map { "\($0.key): \(plain($0.value))" }
        output.result(lines.joined(separator: "\n"), members(fields))
      }
    }
  }

  struct Kick: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Disconnect a client. It connects again by itself and misses nothing.",
      discussion: """
        To keep a visitor out, block the visitor. The audit log of the workspace has an entry.
        """)

    @OptionGroup var options: AdministrationOptions
    @Option(help: ArgumentHelp("For the journal and the audit log.", valueName: "text"))
    var reason: String?
    @Argument(help: "The connection's id.") var id: String

    func run() async throws {
      try await options.ask { client, _, output in
        let body = reason.map { "{\"reason\":\(jsonText($0))}" } ?? "{}"
        _ = try client.request("POST", "/connections/\(id.percentEncoded())/disconnect", body: body)
        output.result("\(id) is disconnected", [("disconnected", .text(id))])
      }
    }
  }
}

extension AdministrationOptions {
  /// Runs a command on the gateway of this machine.
  func ask(
    _ body: (AdminClient, BlockingConnection, CommandOutput) throws -> Void
  ) async throws {
    let settings = try await data.settings()
    try await run { connection, output in
      try Database.checkSchema(connection)
      let client = try AdminClient(settings, Database.tokenAuthority(settings, connection))
      try body(client, connection, output)
    }
  }
}

extension AdminClient {
  /// A page of connections, and the gateways that did not answer.
  fileprivate func rows(
    _ query: [(name: String, value: String?)]
  ) throws -> (rows: [JSONValue], silent: [String]) {
    let pairs = query.compactMap { pair in
      pair.value.map { "\(pair.name)=\($0.percentEncoded())" }
    }
    let answer = try request("GET", "/connections?" + pairs.joined(separator: "&"))
    guard let page = JSONValue(answer), let rows = page["connections"]?.array else {
      throw CommandFailure("the gateway's answer cannot be read")
    }
    return (rows, (page["silent_gateways"]?.array ?? []).compactMap(\.string))
  }
}

extension CommandOutput {
  fileprivate func print(_ row: JSONValue) {
    let fields = row.object ?? [:]
    func text(_ name: String) -> String { fields[name].map(plain) ?? "" }
    let party =
      fields["visitor"]?.string.map { "visitor \($0)" }
      ?? fields["operator"]?.string.map { "operator \($0)" } ?? "nobody yet"
    let state =
      fields["code"]?.int.map { "\($0) by \(text("closed_by")): \(text("reason"))" }
      ?? text("state")
    result(
      "\(text("id"))  \(text("opened_at"))  \(party)  \(text("address"))  "
        + "\(text("messages_in"))/\(text("messages_out"))  \(state)", members(fields))
  }
}

private func members(_ fields: [String: JSONValue]) -> CommandOutput.Members {
  fields.sorted { $0.key < $1.key }
    .map { ($0.key, .json(String(decoding: $0.value.text, as: UTF8.self))) }
}

/// A value for people: a text without quotes, anything else as JSON.
private func plain(_ value: JSONValue) -> String {
  value.string ?? String(decoding: value.text, as: UTF8.self)
}
