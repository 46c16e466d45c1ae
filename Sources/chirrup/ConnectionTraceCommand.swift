/// `chirrup connections trace`: what a client and the gateway send each other, live.
import ArgumentParser
import JSON
import Kernel
import Primitives

extension ConnectionsCommand {
  struct Trace: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Follow live what a client and the gateway send each other, without any text.",
      discussion: """
        The id is that of an open connection, and the trace ends with it; or it is that of a \
        visitor or operator, whose later connections join. A line has the kind of frame, the \
        command or event, sizes, ids and codes; never a message, a name or a token. The audit log \
        of the workspace has an entry. At most 4 traces run at once, each for 10 minutes.
        """)

    @OptionGroup var options: AdministrationOptions
    @Option(help: ArgumentHelp("End after this time, 1 to 600.", valueName: "seconds"))
    var seconds = 600
    @Argument(help: "The id of a connection, a visitor or an operator.") var id: String

    func validate() throws {
      guard (1...600).contains(seconds) else {
        throw ValidationError("--seconds must be 1 to 600")
      }
    }

    func run() async throws {
      try await options.ask { client, _, output in
        let answer = try client.request("POST", "/connections/\(id.percentEncoded())/trace")
        guard let trace = JSONValue(answer)?["trace"]?["id"]?.string else {
          throw CommandFailure("the gateway's answer cannot be read")
        }
        output.note("The trace runs. Ctrl-C ends it.")
        let reason = try follow(trace, client, output)
        output.note(
          "The trace has ended: \(reason).", [("ended", .text(reason))])
      }
    }

    /// Prints lines until the trace ends. Returns why it has ended.
    private func follow(
      _ trace: String, _ client: AdminClient, _ output: CommandOutput
    ) throws -> String {
      let end = SystemClock.now().advanced(byMilliseconds: Int64(seconds) * 1_000)
      var (position, dropped) = (0, 0)
      while SystemClock.now() < end {
        // The gateway answers when there are lines, else after a second.
        let answer = try client.request("GET", "/connections/traces/\(trace)?after=\(position)")
        guard let part = JSONValue(answer), let lines = part["lines"]?.array,
          let next = part["position"]?.int, let lost = part["dropped"]?.int
        else { throw CommandFailure("the gateway's answer cannot be read") }
        if lost > dropped {
          output.note(
            "\(lost - dropped) lines were dropped: they came faster than they were read.",
            [("dropped", .number(Int64(lost - dropped)))])
        }
        for line in lines { output.print(traceLine: line) }
        (position, dropped) = (next, lost)
        if let reason = part["ended"]?.string { return reason }
      }
      _ = try client.request("DELETE", "/connections/traces/\(trace)")
      return "\(seconds) seconds are over"
    }
  }
}

extension CommandOutput {
  /// `2026-11-24T14:21:03.042Z  received  text  send  123 bytes  session=…`
  fileprivate func print(traceLine line: JSONValue) {
    func text(_ name: String) -> String? {
      line[name]?.string ?? line[name]?.int.map(String.init)
    }
    let size = line["deflated"]?.bool == true ? "bytes, deflated" : "bytes"
    let parts: [String?] = [
      text("at"), text("kind"), text("frame"), text("type"),
      text("frame") == nil ? nil : "\(text("bytes") ?? "") \(size)",
      text("seq").map { "seq=\($0)" }, text("code").map { "code=\($0)" }, text("reason"),
      text("session").map { "session=\($0)" }, text("connection").map { "connection=\($0)" },
    ]
    let members = (line.object ?? [:]).sorted { $0.key < $1.key }
      .map { ($0.key, Value.json(String(decoding: $0.value.text, as: UTF8.self))) }
    result(parts.compactMap(\.self).joined(separator: "  "), members)
  }
}
