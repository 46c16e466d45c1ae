/// The parsing of command lines, and the errors of wrong ones.
import ArgumentParser
import Settings
import Testing

@testable import chirrup

@Suite struct ParsingTests {
  @Test("the flags of serve set the settings of the file and the environment")
  func serveFlags() throws {
    let command = try #require(
      Chirrup.parseAsRoot([
        "serve", "--listen", "127.0.0.1:1", "--listen", "[::1]:2",
        "--database-url", "postgresql:///x", "--public-url", "https://chat.example.com", "--loops",
        "3", "--log-level", "debug",
        "--log-format", "json", "--drain-seconds", "7", "--demo", "--no-migrate",
      ]) as? ServeCommand)
    #expect(
      command.options.flags == [
        .listen: "127.0.0.1:1,[::1]:2", .databaseURL: "postgresql:///x",
        .publicURL: "https://chat.example.com", .loops: "3", .logLevel: "debug",
        .logFormat: "json", .drainSeconds: "7", .demo: "true", .migrate: "false",
      ])
  }

  @Test("without flags no setting is overridden")
  func noFlags() throws {
    let command = try #require(Chirrup.parseAsRoot(["serve"]) as? ServeCommand)
    #expect(command.options.flags == [:])
  }

  @Test("every command has an abstract, and its parent's help lists it")
  func help() {
    var commands: [any ParsableCommand.Type] = [Chirrup.self]
    var seen = 0
    while let command = commands.popLast() {
      seen += 1
      let abstract = command.configuration.abstract
      #expect(!abstract.isEmpty, "\(command)")
      #expect(Chirrup.helpMessage(for: command, columns: 100).contains(abstract), "\(command)")
      let overview = Chirrup.helpMessage(for: command, columns: 1_000)
      for child in command.configuration.subcommands {
        #expect(overview.contains(child.configuration.abstract), "\(child)")
        commands.append(child)
      }
    }
    #expect(seen > 20)
  }

  @Test(
    "a wrong command line is refused with the valid values",
    arguments: [
      (["token", "visitor", "--workspace", "w", "--count", "0"], "--count must be 1 to 1000000"),
      (
        ["token", "visitor", "--workspace", "w", "--lifetime", "86401"],
        "--lifetime must be 1 to 86400"
      ),
      (["token", "visitor"], "--workspace"),
      (["retention"], "--days"),
      (["retention", "--days", "0"], "--days must be 1 to 36500"),
      (["quarantine", "list", "--limit", "1001"], "--limit must be 1 to 1000"),
      (["quarantine", "release"], "--all with --workspace"),
      (["quarantine", "release", "--all"], "--all with --workspace"),
      (["quarantine", "purge", "--days", "-1"], "--days"),
      (["workspace", "create", "shop", "--public-key", "a b c d e"], "8 to 64 letters"),
      (
        ["workspace", "origins", "shop", "--any", "--allow", "https://a.example"],
        "--any and --allow exclude each other"
      ),
      (["workspace", "origins", "shop", "--allow", "a.example"], "a.example is not an origin"),
      (
        [
          "operator", "create", "--workspace", "w", "--email", "ada", "--name", "Ada",
        ], "--email must be an address"
      ),
      (
        [
          "operator", "create", "--workspace", "w", "--email", "a@b", "--name", "A", "--role",
          "boss",
        ], "--role must be owner, admin or agent"
      ),
      (["demo-data", "--conversations", "0"], "--conversations must be 1 to 1,000,000"),
      (["demo-data", "--conversations", "5", "--open", "6"], "--open must be 0 to"),
      (["migrate", "down"], "--to"),
      (["migrate", "stamp"], "revision"),
      (["cluster", "upgrade", "--method", "copy"], "--method"),
      (["visitor", "erase", "--workspace", "w"], "id"),
      (["server"], "server"),
      (["serve", "--lisen", "1"], "--lisen"),
    ])
  func refusals(arguments: [String], names: String) {
    do {
      _ = try Chirrup.parseAsRoot(arguments)
      Issue.record("the command line was accepted")
    } catch {
      #expect(Chirrup.fullMessage(for: error).contains(names))
      #expect(Chirrup.exitCode(for: error) == .validationFailure)
    }
  }
}
