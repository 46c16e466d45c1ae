import Kernel
import Synchronization
public import VirusScan

/// Sends every file to a virus scanner before it is stored.
public final class VirusInspector: AttachmentInspector {
  private let scanner: ClamClient
  /// Whether a file waits for a scanner that does not answer; else it is stored without a verdict.
  private let isRequired: Bool
  private let counts: AttachmentCounts
  /// For the log.
  private let report: @Sendable (String) -> Void

  public init(
    _ scanner: ClamClient, isRequired: Bool, counts: AttachmentCounts,
    report: @escaping @Sendable (String) -> Void
  ) {
    self.scanner = scanner
    self.isRequired = isRequired
    self.counts = counts
    self.report = report
  }

  public func inspect(_ upload: inout FinishedUpload) throws(AttachmentFault) {
    let verdict: ScanVerdict
    do {
      let file = try ReadableFile(path: upload.path)
      verdict = try scanner.scan(file)
    } catch {
      counts.noteUnscanned()
      if isRequired { throw .unavailable(reason: "the virus scanner: \(error)") }
      report("a file is stored without a virus scan: \(error)")
      return
    }
    guard case .infected(let name) = verdict else { return }
    counts.noteInfected()
    report("a file with a virus was refused: \(name)")
    throw .refused(type: "file_infected", reason: "The file contains a virus: \(name).")
  }
}
