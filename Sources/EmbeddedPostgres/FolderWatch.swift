/// Measures a folder from time to time while a program writes it.
struct FolderWatch {
  private static let pauseSeconds = 2

  private let path: String
  private let clock = ContinuousClock()
  private var next: ContinuousClock.Instant

  init(_ path: String) {
    self.path = path
    next = clock.now + .seconds(FolderWatch.pauseSeconds)
  }

  /// The folder's bytes; nil until the next measurement is due.
  mutating func bytes() -> Int64? {
    guard clock.now >= next, let bytes = try? Folder.bytes(of: path) else { return nil }
    next = clock.now + .seconds(FolderWatch.pauseSeconds)
    return bytes
  }
}
