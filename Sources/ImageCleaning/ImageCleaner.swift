/// Cleans an image in a process of its own, see `CleaningProcess`. Blocks: for worker threads.
import Confinement
import Kernel
import Synchronization

public struct CleanedImage: Equatable, Sendable {
  public var width: Int
  public var height: Int
  public var byteCount: Int64
}

/// Nobody knows whether the image is good: the process could not be started, or the kernel does not
/// confine it.
public struct CleaningFault: Error, Sendable, CustomStringConvertible {
  public var description: String
}

public enum CleaningOutcome: Equatable, Sendable {
  case cleaned(CleanedImage)
  case refused(ImageRefusal)
}

public final class ImageCleaner: Sendable {
  /// The form of every thumbnail.
  public static let thumbnailType = "image/webp"
  /// How long a thread waits for its turn, for images that take all of their time.
  private static let turnMilliseconds: Int64 = 120_000

  private let executable: String
  private let turns = Semaphore()

  /// - Parameter executable: this program: the process is the same one with other arguments, which
  ///   /proc names even after an upgrade has replaced the file.
  public init(executable: String = "/proc/self/exe") {
    self.executable = executable
    for _ in 0..<ImageLimits.processes { turns.signal() }
  }

  /// Writes the cleaned image and its thumbnail to two new files. After a refusal or a fault there
  /// may be parts of them, which the caller removes.
  public func clean(
    _ path: String, _ format: ImageFormat, to image: String, thumbnail: String
  ) throws(CleaningFault) -> CleaningOutcome {
    guard turns.wait(milliseconds: ImageCleaner.turnMilliseconds) else {
      throw CleaningFault(description: "too many images are being cleaned")
    }
    defer { turns.signal() }
    var command = Command(executable, [CleaningProcess.command, format.rawValue])
    command.input = .file(path)
    command.output = .capture
    command.errors = .discard
    command.newFiles = [image, thumbnail]
    command.environment = []
    command.hasOwnGroup = true
    return try run(command)
  }

  /// Whether this system confines the process, with an image of no bytes.
  public func check() throws(CleaningFault) {
    var command = Command(executable, [CleaningProcess.command, ImageFormat.png.rawValue])
    command.output = .capture
    command.errors = .discard
    command.environment = []
    guard try run(command) == .refused(.unreadable) else {
      throw CleaningFault(description: "the process that cleans images does not work")
    }
  }

  private func run(_ command: Command) throws(CleaningFault) -> CleaningOutcome {
    let finished: ChildProcess.Finished
    do throws(Errno) { finished = try ChildProcess.run(command) } catch {
      throw CleaningFault(description: "the process that cleans images cannot start: \(error)")
    }
    switch finished.status {
    case .signaled: return .refused(.ended)
    case .exited(0): return try ImageCleaner.outcome(finished.text)
    case .exited(ConfinedProcess.notConfined):
      throw CleaningFault(
        description: "this system does not confine the process that cleans images (seccomp)")
    case .exited(let status):
      throw CleaningFault(description: "the process that cleans images ended with \(status)")
    }
  }

  /// The process may be in the hands of the image, so its line is not trusted either.
  static func outcome(_ line: String) throws(CleaningFault) -> CleaningOutcome {
    let words = line.split(whereSeparator: \.isWhitespace)
    if words.count == 2, words[0] == "refused", let reason = ImageRefusal(rawValue: "\(words[1])") {
      return .refused(reason)
    }
    guard words.count == 4, words[0] == "cleaned", let width = Int(words[1]),
      let height = Int(words[2]), let byteCount = Int64(words[3]),
      (1...ImageLimits.side).contains(width), (1...ImageLimits.side).contains(height),
      (1...Int64(ImageLimits.writtenBytes)).contains(byteCount)
    else { return .refused(.ended) }
    return .cleaned(CleanedImage(width: width, height: height, byteCount: byteCount))
  }
}
