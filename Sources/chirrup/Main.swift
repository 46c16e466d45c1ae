/// The command line: `chirrup serve`, and the tools around it.
import ArgumentParser
import Kernel

struct Chirrup: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "chirrup",
    abstract: "A WebSocket gateway for live chat on PostgreSQL.",
    version: Version.text,
    subcommands: [
      ServeCommand.self, MigrateCommand.self, TokenCommand.self, WorkspaceCommand.self,
      OperatorCommand.self, VisitorCommand.self, ImportCommand.self, RetentionCommand.self,
      QuarantineCommand.self, EpochCommand.self, AnalyticsCommand.self, DemoDataCommand.self,
      VersionCommand.self,
    ])
}

/// The first thread only waits. An async `main` would give it to the concurrency runtime, which
/// lets every signal through to it again, so that a SIGTERM would kill instead of drain.
@main
enum Main {
  static func main() {
    if CommandLine.arguments.dropFirst().first == "serve" { StopSignals.block() }
    do {
      let end = try End()
      Task.detached {
        await Chirrup.main(nil)
        end.counter.signal()
      }
      try end.wait()
    } catch {
      Terminal.tell("chirrup cannot start: \(error)")
    }
  }

  private final class End: Sendable {
    let counter: EventCounter

    init() throws { counter = try EventCounter() }

    func wait() throws {
      let epoll = try Epoll()
      try epoll.add(rawValue: counter.rawValue, .read, datum: 0)
      var events = Events(capacity: 1)
      while events.count == 0 { try epoll.wait(into: &events, timeoutMilliseconds: -1) }
    }
  }
}

enum Version {
  static let text = "0.1.0"
}

struct VersionCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "version", abstract: "Print the version.")

  func run() {
    print("chirrup \(Version.text)")
  }
}
