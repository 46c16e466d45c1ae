import Foundation
import Kernel
import OpenSSL
import Primitives
import Testing

@testable import ObjectStorage

/// Against moto's server, which checks the signatures with Amazon's own code.
@Suite(
  .serialized, .enabled(if: S3World.isInstalled, "moto is not installed: scripts/test does it"))
struct S3ClientTests {
  @Test("an object is stored, read in ranges, measured and removed")
  func roundTrip() async throws {
    let world = try await S3World.shared.value
    try await world.begin()
    let client = S3Client(try world.settings())
    try client.checkBucket()
    let (file, bytes) = try world.file(300_001)
    try client.put(file, key: "a b/ü+%.bin")
    #expect(try client.size(of: "a b/ü+%.bin") == 300_001)
    #expect(try client.read("a b/ü+%.bin", from: 0, count: 1) == [bytes[0]])
    #expect(
      try client.read("a b/ü+%.bin", from: 299_000, count: 65_536) == Array(bytes[299_000...]))
    #expect(try client.read("a b/ü+%.bin", from: 300_001, count: 10).isEmpty)
    try client.delete("a b/ü+%.bin")
    #expect(try client.size(of: "a b/ü+%.bin") == nil)
    try client.delete("a b/ü+%.bin")
    #expect { try client.read("a b/ü+%.bin", from: 0, count: 1) } throws: {
      ($0 as? S3Fault)?.kind == .notFound
    }
    let (empty, _) = try world.file(0)
    try client.put(empty, key: "empty")
    #expect(try client.size(of: "empty") == 0)
    #expect(try client.read("empty", from: 0, count: 5).isEmpty)
  }

  @Test("a large file goes up in parts, and comes back in ranges")
  func parts() async throws {
    let world = try await S3World.shared.value
    try await world.begin()
    let client = S3Client(try world.settings())
    _ = try await world.seen()
    let (file, bytes) = try world.file(17 << 20)
    try client.put(file, key: "large")
    #expect(try client.size(of: "large") == 17 << 20)
    var digest = SHA256Stream()
    for offset in stride(from: 0, to: 17 << 20, by: 1 << 20) {
      let piece = try client.read("large", from: Int64(offset), count: 1 << 20)
      piece.withRawSpan { digest.update($0) }
    }
    #expect(digest.digest() == SHA256.digest(bytes))
    let seen = try await world.seen()
    #expect(seen.count { $0.contains("partNumber=") } == 3)
    #expect(try await world.unfinishedUploads().isEmpty)
  }

  @Test("the keys of a bucket are listed in pages, with their times")
  func listing() async throws {
    let world = try await S3World.shared.value
    try await world.begin()
    let client = S3Client(try world.settings())
    let (file, _) = try world.file(3)
    for key in ["list/b/2", "list/a/1", "list/c&d"] { try client.put(file, key: key) }
    let now = SystemClock.wallTime().microseconds / 1_000_000
    let all = try client.list(after: "list/").prefix(3)
    #expect(all.map(\.key) == ["list/a/1", "list/b/2", "list/c&d"])
    #expect(all.allSatisfy { abs($0.modifiedAt - now) < 120 })
    #expect(try client.list(after: "list/b/2").first?.key == "list/c&d")
    #expect(try client.list(after: "\u{7E}").isEmpty)
  }

  @Test("an upload in parts that fails for good is aborted")
  func abort() async throws {
    let world = try await S3World.shared.value
    try await world.begin()
    let client = S3Client(try world.settings(), partBytes: 5 << 20)
    let (file, _) = try world.file(11 << 20)
    try await world.plan(
      status: 403, code: "AccessDenied", times: 9, method: "PUT", path: "partNumber=2")
    #expect { try client.put(file, key: "aborted") } throws: {
      ($0 as? S3Fault)?.kind == .accessDenied
    }
    #expect(try await world.unfinishedUploads().isEmpty)
    #expect(try await world.objects()["aborted"] == nil)
    // An answer of 200 may still be a failure of the completion.
    try await world.plan(
      status: 200, code: "InternalError", times: 9, method: "POST", path: "uploadId=")
    #expect { try client.put(file, key: "aborted") } throws: { ($0 as? S3Fault)?.kind == .busy }
    #expect(try await world.unfinishedUploads().isEmpty)
  }

  @Test("a busy server gets the request again, with delays, and at most four times")
  func retries() async throws {
    let world = try await S3World.shared.value
    try await world.begin()
    let client = S3Client(try world.settings())
    let (file, bytes) = try world.file(1_000)
    try await world.plan(status: 503, code: "SlowDown", times: 2, method: "PUT")
    _ = try await world.seen()
    try client.put(file, key: "x")
    #expect(try await world.seen().count == 3)
    #expect(try client.read("x", from: 0, count: 2_000) == bytes)
    try await world.plan(status: 500, code: "InternalError", times: 99, method: "GET")
    _ = try await world.seen()
    #expect { try client.read("x", from: 0, count: 10) } throws: {
      ($0 as? S3Fault)?.kind == .busy && ($0 as? S3Fault)?.isTransient == true
    }
    #expect(try await world.seen().count == 4)
  }

  @Test("each fault of the settings has its own reason, and is not tried again")
  func faults() async throws {
    let world = try await S3World.shared.value
    try await world.begin()
    func kind(_ settings: S3Settings) -> S3Fault.Kind? {
      do throws(S3Fault) {
        try S3Client(settings).checkBucket()
        return nil
      } catch {
        for secret in [settings.accessKey, settings.secretKey] where !secret.isEmpty {
          #expect(!error.description.contains(secret))
        }
        return error.kind
      }
    }
    #expect(kind(try world.settings()) == nil)
    #expect(kind(try world.settings(secret: "incorrect")) == .keyRefused)
    var unknown = try world.settings()
    unknown.accessKey = "AKIAUNKNOWN"
    #expect(kind(unknown) == .keyRefused)
    #expect(kind(try world.settings(user: "other_")) == .accessDenied)
    #expect(kind(try world.settings(bucket: "no-such-bucket")) == .noBucket)
    try await world.plan(status: 403, code: "RequestTimeTooSkewed", times: 1, method: "GET")
    #expect(kind(try world.settings()) == .clockSkew)
    try await world.plan(status: 301, code: "PermanentRedirect", times: 1, method: "GET")
    #expect(kind(try world.settings()) == .wrongRegion)
    var closed = try world.settings()
    closed.endpoint = try #require(S3Endpoint("http://127.0.0.1:9"))
    #expect(kind(closed) == .unreachable)
  }

  @Test("a file that is shorter than it was is not stored")
  func shortened() async throws {
    let world = try await S3World.shared.value
    try await world.begin()
    let client = S3Client(try world.settings())
    let place = world.folder.appending(path: "shrinks")
    try Data(count: 200_000).write(to: place)
    let file = try ReadableFile(path: place.path)
    try FileHandle(forWritingTo: place).truncate(atOffset: 100)
    #expect { try client.put(file, key: "short") } throws: { ($0 as? S3Fault)?.kind == .file }
    #expect(try await world.objects()["short"] == nil)
  }

  @Test("TLS: a certificate that is not trusted is refused, and one that is given is trusted")
  func certificates() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (certificate, key) = ("\(folder.path)/c.pem", "\(folder.path)/k.pem")
    var command = Command(
      "openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost",
        "-addext", "subjectAltName=DNS:localhost",
      ])
    command.errors = .discard
    #expect(try ChildProcess.run(command).status.isSuccess)
    let world = try await S3World(["--certificate", certificate, "--key", key])
    try S3Client(try world.settings(authority: certificate)).checkBucket()
    #expect { try S3Client(try world.settings()).checkBucket() } throws: {
      ($0 as? S3Fault)?.kind == .unreachable && "\($0)".contains("certificate")
    }
  }
}
