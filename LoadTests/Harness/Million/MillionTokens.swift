/// The tokens of the silent widgets. `chirrup token visitor` creates the visitors of a step, each
/// with a session, in bulk; the widgets then authenticate and subscribe as all others.
///
///     FOLDER/STEP-PROCESS    lines of `chirrup token`, removed when they are read
import Foundation
import Kernel

enum MillionTokens {
  private static let lifetimeSeconds = 86_400

  /// Visitors of one call of the program.
  private static let atOnce = 20_000

  /// Creates the visitors of a step and divides their tokens among the processes. Returns false if
  /// the run was ended meanwhile.
  ///
  /// - Parameter attend: called all the time: a worker whose reports nobody reads would end. False
  ///   ends the creation.
  static func make(
    _ counts: [Int], step: Int, folder: String, chirrup: String, databaseURL: String,
    attend: () throws -> Bool
  ) throws -> Bool {
    let total = counts.reduce(0, +)
    guard total > 0 else { return true }
    let path = "\(folder)/all-\(step)"
    for begin in stride(from: 0, to: total, by: atOnce) {
      var command = Command(
        chirrup,
        [
          "token", "visitor", "--workspace", "demo", "--count",
          String(min(atOnce, total - begin)), "--lifetime", String(lifetimeSeconds),
          "--database-url", databaseURL,
        ])
      command.output = .file(path)
      command.environment = MillionGateways.environment
      // Ctrl-C must reach only this program.
      command.hasOwnGroup = true
      var child = try ChildProcess.spawn(command)
      var status: ChildProcess.ExitStatus?
      while status == nil {
        // Releasing the child kills it.
        guard try attend() else { return false }
        status = try child.poll()
      }
      guard status == .exited(0) else {
        throw CredentialFailure.command(
          "chirrup token visitor", status.map { "\($0)" } ?? "no status")
      }
    }
    try divide(path, counts, step: step, folder: folder)
    return true
  }

  private static func divide(
    _ path: String, _ counts: [Int], step: Int, folder: String
  ) throws {
    let data = try Data(contentsOf: URL(filePath: path), options: .alwaysMapped)
    var begin = data.startIndex
    for (process, count) in counts.enumerated() {
      guard let end = MillionTokens.end(of: count, linesOf: data, from: begin) else {
        throw CredentialFailure.unreadable(path)
      }
      try data[begin..<end].write(to: URL(filePath: "\(folder)/\(step)-\(process)"))
      begin = end
    }
    try FileManager.default.removeItem(atPath: path)
  }

  /// The index after `count` lines; nil if there are fewer.
  static func end(of count: Int, linesOf data: Data, from begin: Data.Index) -> Data.Index? {
    var end = begin
    for _ in 0..<count {
      guard let newline = data[end...].firstIndex(of: UInt8(ascii: "\n")) else { return nil }
      end = newline + 1
    }
    return end
  }

  static func take(from folder: String, step: Int, process: Int, count: Int) throws -> [Credential]
  {
    let path = "\(folder)/\(step)-\(process)"
    let all = try Credentials.read(file: path)
    guard all.count >= count else {
      throw CredentialFailure.tooFew("visitor", wanted: count, found: all.count)
    }
    try FileManager.default.removeItem(atPath: path)
    return all
  }
}
