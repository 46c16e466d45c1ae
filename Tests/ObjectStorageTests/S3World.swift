/// A running server of moto with a bucket and two users, see Tests/EndToEnd/s3_server.py.
import Foundation
import Kernel
import Primitives
import Testing

@testable import ObjectStorage

final class S3World: Sendable {
  /// For all tests, which run one after the other: a server takes seconds to start. It ends with
  /// this process, which closes its standard input.
  static let shared = Task { try await S3World() }

  static let python = ".venv/bin/python3"
  /// The packages of the tests are installed (scripts/test does it).
  static let isInstalled = FileManager.default.isExecutableFile(atPath: ".venv/bin/moto_server")

  let folder: URL
  private let control: FileDescriptor
  private let server: ChildProcess
  private let told: [String: String]

  init(_ arguments: [String] = []) async throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "s3-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let output = folder.appending(path: "server.json")
    var command = Command(S3World.python, ["Tests/EndToEnd/s3_server.py"] + arguments)
    command.input = .socket
    command.output = .file(output.path)
    command.errors = .discard
    var server = try ChildProcess.spawn(command)
    guard let socket = server.takeSocket() else { throw CancellationError() }
    control = socket
    self.server = server
    let limit = SystemClock.now().advanced(byMilliseconds: 120_000)
    var text = ""
    while !text.hasSuffix("\n"), SystemClock.now() < limit {
      try await Task.sleep(for: .milliseconds(50))
      text = (try? String(contentsOf: output, encoding: .utf8)) ?? ""
    }
    told = try JSONDecoder().decode([String: String].self, from: Data(text.utf8))
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  func settings(
    user: String = "", secret: String? = nil, bucket: String? = nil, authority: String? = nil
  ) throws -> S3Settings {
    S3Settings(
      endpoint: try #require(S3Endpoint(told["endpoint"] ?? "")), region: "eu-central-1",
      bucket: bucket ?? told["bucket"] ?? "", accessKey: told[user + "access_key"] ?? "",
      secretKey: secret ?? told[user + "secret_key"] ?? "", isPathStyle: true,
      authority: authority)
  }

  /// A file of random bytes.
  func file(_ byteCount: Int) throws -> (file: ReadableFile, bytes: [UInt8]) {
    let source = try #require(FileHandle(forReadingAtPath: "/dev/urandom"))
    let bytes = byteCount == 0 ? Data() : try #require(try source.read(upToCount: byteCount))
    let place = folder.appending(path: UUID().uuidString)
    try bytes.write(to: place)
    return (try ReadableFile(path: place.path), Array(bytes))
  }

  /// Forgets the faults and requests of earlier tests.
  func begin() async throws {
    try await plan(status: 500, code: "", times: 0, method: "GET")
    _ = try await seen()
  }

  func plan(status: Int, code: String, times: Int, method: String, path: String = "") async throws {
    let plan =
      #"{"status":\#(status),"code":"\#(code)","times":\#(times),"method":"\#(method)","#
      + #""path":"\#(path)"}"#
    _ = try await asked("_faults", body: plan)
  }

  /// The requests since the last call.
  func seen() async throws -> [String] {
    try JSONDecoder().decode([String].self, from: try await asked("_seen"))
  }

  func objects() async throws -> [String: Int] {
    try JSONDecoder().decode([String: Int].self, from: try await asked("_objects"))
  }

  func unfinishedUploads() async throws -> [String] {
    try JSONDecoder().decode([String].self, from: try await asked("_uploads"))
  }

  private func asked(_ path: String, body: String? = nil) async throws -> Data {
    var command = Command("curl", ["--silent", "--fail", "\(told["endpoint"] ?? "")/\(path)"])
    if let body { command.arguments += ["--request", "PUT", "--data-binary", body] }
    command.output = .capture
    let finished = try ChildProcess.run(command)
    try #require(finished.status.isSuccess)
    return Data(finished.output)
  }
}
