import Foundation
import Kernel
import Primitives
import Testing

@testable import VirusScan

/// A scanner that answers what a test wants, over a Unix socket.
private final class FakeScanner {
  let folder: URL
  var address: ClamAddress { .path(folder.appending(path: "s").path) }

  /// - Parameter receives: bytes that are read before the answer; nil: all up to the stream's end.
  init(answer: [UInt8], receives: Int? = nil, stays: Bool = false) throws {
    folder = FileManager.default.temporaryDirectory.appending(
      path: "c\(UInt16.random(in: 0...9999))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let listener = try Sockets.listen(path: folder.appending(path: "s").path)
    let held = Held(listener.release())
    _ = try Thread.spawn(name: "scanner") {
      let listener = FileDescriptor(owning: held.number)
      while true {
        guard case .accepted(let socket, _) = listener.accept() else {
          Thread.sleep(milliseconds: 2)
          continue
        }
        FakeScanner.serve(socket, answer, receives: receives)
        if stays { Thread.sleep(milliseconds: 10_000) }
        return
      }
    }
  }

  private final class Held: Sendable {
    let number: Int32
    init(_ number: Int32) { self.number = number }
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  private static func serve(
    _ socket: borrowing FileDescriptor, _ answer: [UInt8], receives: Int?
  ) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    var tail: [UInt8] = []
    var count = 0
    while receives.map({ count < $0 }) ?? (tail.suffix(4) != [0, 0, 0, 0]) {
      switch buffer.withMutableRawSpan({ socket.receive(into: &$0) }) {
      case .bytes(let got):
        count += got
        tail = (tail + buffer[..<got]).suffix(8)
      case .wouldBlock: Thread.sleep(milliseconds: 1)
      default: return
      }
    }
    _ = answer.withRawSpan { socket.send($0) }
  }

  func file(_ byteCount: Int) throws -> ReadableFile {
    let place = folder.appending(path: "file")
    try Data(repeating: 7, count: byteCount).write(to: place)
    return try ReadableFile(path: place.path)
  }
}

@Suite struct ClamClientTests {
  private func verdict(
    _ answer: String, bytes: Int = 200_000, receives: Int? = nil, stays: Bool = false,
    milliseconds: Int64 = 10_000
  ) throws -> Result<ScanVerdict, ScanFault> {
    let scanner = try FakeScanner(answer: Array(answer.utf8), receives: receives, stays: stays)
    let client = ClamClient(address: scanner.address, milliseconds: milliseconds)
    let file = try scanner.file(bytes)
    do throws(ScanFault) { return .success(try client.scan(file)) } catch { return .failure(error) }
  }

  @Test("verdicts")
  func verdicts() throws {
    #expect(try verdict("stream: OK\0") == .success(.clean))
    #expect(try verdict("stream: X.Y FOUND\0") == .success(.infected("X.Y")))
    #expect(try verdict("stream: OK\0", bytes: 0) == .success(.clean))
  }

  @Test("no answer, a cut one, one without an end, an endless one, and a late one are faults")
  func faults() throws {
    for answer in ["", "stream: OK", "nonsense\0", String(repeating: "x", count: 3_000)] {
      guard case .failure = try verdict(answer) else {
        Issue.record("\(answer.prefix(20))")
        continue
      }
    }
    let late = try verdict("stream: OK", stays: true, milliseconds: 300)
    #expect(late == .failure(ScanFault(description: "the scanner takes too long")))
  }

  @Test("“clean” before the whole file was sent is no verdict, and an infection is")
  func early() throws {
    guard case .failure = try verdict("stream: OK\0", bytes: 8 << 20, receives: 10) else {
      Issue.record("a part was taken for the whole")
      return
    }
    let found = try verdict("stream: X FOUND\0", bytes: 8 << 20, receives: 10, stays: true)
    // The rest cannot be sent any more, or is not read: the answer counts where it arrived.
    if case .success(let verdict) = found { #expect(verdict == .infected("X")) }
  }

  @Test("nobody listens")
  func nobody() throws {
    let client = ClamClient(address: .path("/nonexistent/clamd"), milliseconds: 1_000)
    #expect { try client.version() } throws: { "\($0)".contains("cannot be reached") }
    let closed = ClamClient(address: .host("127.0.0.1", port: 9), milliseconds: 1_000)
    #expect { try closed.version() } throws: { "\($0)".contains("cannot be reached") }
  }
}
