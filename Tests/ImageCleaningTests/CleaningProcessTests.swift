import Foundation
import Kernel
import Primitives
import Testing

@testable import ImageCleaning

/// The process with its limits, as the gateway starts it. Sanitizers map more than its address
/// space may have.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["ASAN_OPTIONS"] == nil))
final class CleaningProcessTests {
  private let folder: URL
  private let cleaner: ImageCleaner
  /// The binary is beside the bundle of the tests.
  private static let program = URL(fileURLWithPath: CommandLine.arguments[0])
    .deletingLastPathComponent().appending(path: "chirrup").path

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    cleaner = ImageCleaner(executable: CleaningProcessTests.program)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  private func path(_ name: String) -> String { folder.appending(path: name).path }

  private func clean(_ bytes: [UInt8], _ format: ImageFormat) throws -> CleaningOutcome {
    try Data(bytes).write(to: folder.appending(path: "in"))
    return try cleaner.clean(path("in"), format, to: path("out"), thumbnail: path("thumbnail"))
  }

  @Test("an image comes out clean, with its size and its thumbnail")
  func cleaned() throws {
    let jpeg = ImageSamples.withEXIF(try ImageSamples.jpeg(900, 300), ImageSamples.exif(6))
    guard case .cleaned(let image) = try clean(jpeg, .jpeg) else {
      Issue.record("not cleaned")
      return
    }
    let written = try Data(contentsOf: folder.appending(path: "out"))
    #expect(image.width == 300 && image.height == 900 && image.byteCount == written.count)
    #expect(written.range(of: Data("GPS".utf8)) == nil)
    let thumbnail = try Codec.decoded(
      Array(try Data(contentsOf: folder.appending(path: "thumbnail"))), .webp)
    #expect(thumbnail.width == 213 && thumbnail.height == 640)
    let attributes = try FileManager.default.attributesOfItem(atPath: path("out"))
    #expect(attributes[.posixPermissions] as? Int == 0o600)
  }

  @Test("a refusal comes through the pipe, and a file that exists is not overwritten")
  func refused() throws {
    #expect(try clean(Array("no image".utf8), .png) == .refused(.unreadable))
    #expect(throws: CleaningFault.self) { try clean(try ImageSamples.png(3, 3), .png) }
  }

  @Test("an image that fits the limit of pixels and not that of memory ends the process alone")
  func memory() throws {
    // 50 million pixels of 8 bytes in libpng, 4 here and 4 for the thumbnail fit; a frame of a GIF
    // that claims 4 GB does not.
    var gif = ImageSamples.gif
    let frame = gif.indices.first { gif[$0...].starts(with: [0x2C, 0, 0, 0, 0, 4, 0]) }
    let place = try #require(frame)
    gif.replaceSubrange(place + 5..<place + 9, with: [0xFF, 0xFF, 0xFF, 0xFF])
    guard case .refused = try clean(gif, .gif) else {
      Issue.record("cleaned")
      return
    }
  }

  /// What the kernel says about the process while it waits for its input.
  private func inspect(_ look: (String) throws -> Void) throws {
    var command = Command(
      CleaningProcessTests.program, [CleaningProcess.command, ImageFormat.png.rawValue])
    let pipe = Pipe()
    command.input = .descriptor(pipe.fileHandleForReading.fileDescriptor)
    command.output = .discard
    command.errors = .discard
    command.newFiles = [path("a"), path("b")]
    let child = try ChildProcess.spawn(command)
    let folder = "/proc/\(child.processIdentifier)"
    let limit = SystemClock.now().advanced(byMilliseconds: 30_000)
    while SystemClock.now() < limit {
      let status = (try? String(contentsOfFile: folder + "/status", encoding: .utf8)) ?? ""
      if status.contains("Seccomp:\t2") { break }
      Thread.sleep(milliseconds: 5)
    }
    try look(folder)
    try pipe.fileHandleForWriting.close()
  }

  @Test("before it reads a byte, the process has given up all that it does not need")
  func confined() throws {
    try inspect { folder in
      let status = try String(contentsOfFile: folder + "/status", encoding: .utf8)
      #expect(status.contains("Seccomp:\t2") && status.contains("NoNewPrivs:\t1"))
      #expect(status.contains("Threads:\t1\n"))
      let limits = try String(contentsOfFile: folder + "/limits", encoding: .utf8)
      for (name, value) in [
        ("Max address space", "1073741824"), ("Max cpu time", "20"), ("Max open files", "0"),
        ("Max core file size", "0"), ("Max file size", "268435456"),
      ] {
        let line = limits.split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
        #expect(line.split(separator: " ").contains(Substring(value)), "\(line)")
      }
      let open = try FileManager.default.contentsOfDirectory(atPath: folder + "/fd")
      #expect(Set(open) == ["0", "1", "2", "3", "4"])

    }
  }

  @Test("this system confines the process")
  func check() throws { try cleaner.check() }

  @Test("a line of the process that is none is a refusal")
  func lines() throws {
    for line in [
      "", "cleaned", "cleaned 1 1", "cleaned 0 1 1", "cleaned 1 1 99999999999", "cleaned -1 1 1",
      "cleaned 40000 1 1", "refused", "refused everything", "cleaned 1 1 1 1",
    ] {
      #expect(try ImageCleaner.outcome(line) == .refused(.ended), "\(line)")
    }
    #expect(try ImageCleaner.outcome("refused tooLarge\n") == .refused(.tooLarge))
    #expect(
      try ImageCleaner.outcome("cleaned 2 3 4\n")
        == .cleaned(CleanedImage(width: 2, height: 3, byteCount: 4)))
  }
}
