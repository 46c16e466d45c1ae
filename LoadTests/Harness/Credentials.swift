/// Tokens of visitors and operators, from files or from `chirrup token`.
import Foundation
import Kernel
import Primitives

enum CredentialFailure: Error, CustomStringConvertible {
  case unreadable(String)
  case malformed(line: String)
  case command(String, String)
  case tooFew(String, wanted: Int, found: Int)

  var description: String {
    switch self {
    case .unreadable(let path): "\(path) cannot be read"
    case .malformed(let line): "not a line of `chirrup token`: \(line.prefix(120))"
    case .command(let command, let status): "`\(command)` failed: \(status)"
    case .tooFew(let kind, let wanted, let found): "\(wanted) \(kind)s wanted, \(found) tokens"
    }
  }
}

enum Credentials {
  static func read(file path: String) throws(CredentialFailure) -> [Credential] {
    guard let data = FileManager.default.contents(atPath: path) else { throw .unreadable(path) }
    return try parse([UInt8](data))
  }

  /// Runs `chirrup token visitor|operator`. `database` is the option that
  /// names the gateway's database: `--data-dir` or `--database-url`, with its value.
  static func make(
    chirrup: String, kind: String, count: Int, workspace: String, database: [String],
    lifetimeSeconds: Int? = nil
  ) throws(CredentialFailure) -> [Credential] {
    guard count > 0 else { return [] }
    let arguments =
      ["token", kind, "--workspace", workspace, "--count", String(count)] + database
      + (lifetimeSeconds.map { ["--lifetime", String($0)] } ?? [])
    var command = Command(chirrup, arguments)
    command.output = .capture
    let text = ([chirrup] + arguments).joined(separator: " ")
    let finished: ChildProcess.Finished
    do throws(Errno) {
      finished = try ChildProcess.run(command)
    } catch {
      throw .command(text, "\(error)")
    }
    guard finished.status.isSuccess else { throw .command(text, "\(finished.status)") }
    return try parse(finished.output)
  }

  /// One JSON object per line; its field `visitor` or `operator` gives the role.
  static func parse(_ bytes: [UInt8]) throws(CredentialFailure) -> [Credential] {
    var credentials: [Credential] = []
    for line in bytes.split(separator: UInt8(ascii: "\n")) where !line.allSatisfy({ $0 <= 0x20 }) {
      guard let credential = try? readLine(Array(line)) else {
        throw .malformed(line: String(decoding: line, as: UTF8.self))
      }
      credentials.append(credential)
    }
    return credentials
  }

  private static func readLine(_ line: [UInt8]) throws(JSONFault) -> Credential {
    try line.withRawSpan { (text) throws(JSONFault) in
      var cursor = JSONCursor()
      var token = ""
      var session: Identifier?
      var kind: Credential.Kind?
      try cursor.expect("{", text)
      repeat {
        let name = text.extracting(try cursor.string(text).range).string
        try cursor.expect(":", text)
        switch name {
        case "token": token = text.extracting(try cursor.string(text).range).string
        case "session" where try cursor.peek(text) == UInt8(ascii: "\""):
          session = Identifier(text: text.extracting(try cursor.string(text).range))
        case "visitor", "operator":
          if try cursor.peek(text) != UInt8(ascii: "n") {
            kind = name == "visitor" ? .visitor : .operator_
          }
          try cursor.skipValue(text)
        default: try cursor.skipValue(text)
        }
      } while try cursor.take(",", text)
      guard let kind, !token.isEmpty, kind == .operator_ || session != nil else {
        throw .unexpected(offset: cursor.position)
      }
      return Credential(kind: kind, token: token, session: session)
    }
  }
}
