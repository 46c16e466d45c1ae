/// Reads an e-mail in a process of its own, see `MailReadingProcess`. Blocks: for threads that may.
import Confinement
import Kernel

/// Nobody knows what the message is: the process could not be started, GMime is not installed, or
/// the kernel does not confine the process.
public struct MailParsingFault: Error, Sendable, Equatable, CustomStringConvertible {
  public var description: String
}

public struct MailParser: Sendable {
  private let executable: String

  /// - Parameter executable: this program, see `ImageCleaner`.
  public init(executable: String = "/proc/self/exe") { self.executable = executable }

  /// Nil for a message that cannot be read: it has ended the process, or is too large.
  public func parse(_ message: [UInt8]) throws(MailParsingFault) -> ParsedMail? {
    guard message.count <= MailReadingProcess.messageBytesMax else { return nil }
    let status: ChildProcess.ExitStatus
    let output: [UInt8]?
    do throws(Errno) { (status, output) = try run(message) } catch {
      throw MailParsingFault(description: "the process that reads e-mail cannot start: \(error)")
    }
    return try MailParser.isRead(status) ? output.flatMap { ParsedMail($0) } : nil
  }

  private func run(
    _ message: [UInt8]
  ) throws(Errno) -> (status: ChildProcess.ExitStatus, output: [UInt8]?) {
    let input = try MemoryFile.of(message)
    let output = try MemoryFile()
    var command = Command(executable, [MailReadingProcess.command])
    command.input = .descriptor(input.rawValue)
    command.output = .descriptor(output.rawValue)
    command.errors = .discard
    command.environment = []
    command.hasOwnGroup = true
    let status = try ChildProcess.run(command).status
    return (status, output.contents(atMost: MailReadingProcess.outputBytesMax))
  }

  /// Whether this system can read e-mail, with a message of one line.
  public func check() throws(MailParsingFault) {
    guard try parse(Array("Subject: a\r\n\r\na\r\n".utf8))?.text.hasPrefix("a") == true else {
      throw MailParsingFault(description: "the process that reads e-mail does not work")
    }
  }

  private static func isRead(
    _ status: ChildProcess.ExitStatus
  ) throws(MailParsingFault) -> Bool {
    switch status {
    case .exited(0): return true
    case .exited(ConfinedProcess.notConfined):
      throw MailParsingFault(
        description: "this system does not confine the process that reads e-mail (seccomp)")
    case .exited(MailReadingProcess.noLibrary):
      throw MailParsingFault(
        description: "GMime is not installed, which reads e-mail: the package libgmime-3.0-0")
    case .exited, .signaled: return false
    }
  }
}
