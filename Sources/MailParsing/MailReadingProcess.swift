/// The process that reads one e-mail: `chirrup read-mail`, started by `MailParser`. It has the
/// message as its standard input, and writes a `ParsedMail` to its standard output; see
/// `ConfinedProcess`.
import Confinement

public enum MailReadingProcess {
  public static let command = "read-mail"
  /// Exit status when GMime is not installed.
  static let noLibrary: Int32 = 4

  /// Of a message with its files.
  public static let messageBytesMax = 32 << 20

  static let limits = ConfinementLimits(
    addressBytes: 1 << 30, processorSeconds: 10, writtenBytes: UInt64(outputBytesMax),
    wallSeconds: 60)
  /// A text, each of whose characters may be escaped, and the files.
  static let outputBytesMax = (8 << 20) + ParsedMail.filesBytesMax

  /// Runs as that process if the command line says so; then it does not return.
  public static func runIfWanted(_ arguments: [String]) {
    guard arguments.count == 2, arguments[1] == command else { return }
    guard let library = MailTree.Library() else { ConfinedProcess.end(noLibrary) }
    let charsets = Charsets()
    guard ConfinedProcess.confine(limits) else { ConfinedProcess.end(ConfinedProcess.notConfined) }
    do throws(ConfinedProcess.InputFault) {
      let bytes = try ConfinedProcess.readInput(atMost: messageBytesMax)
      guard let mail = read(bytes, library, charsets) else { ConfinedProcess.end(1) }
      ConfinedProcess.end(ConfinedProcess.write(mail.output, to: 1) ? 0 : 1)
    } catch {
      ConfinedProcess.end(1)
    }
  }

  private static func read(
    _ bytes: [UInt8], _ library: MailTree.Library, _ charsets: Charsets
  ) -> ParsedMail? {
    // SAFETY: the copy is never released: GMime's objects refer to it.
    let copy = UnsafeMutableBufferPointer<CChar>.allocate(capacity: bytes.count)
    _ = unsafe copy.initialize(from: bytes.map { CChar(bitPattern: $0) })
    // SAFETY: as above.
    guard let tree = unsafe MailTree(UnsafeBufferPointer(copy), library) else { return nil }
    return MailReading.mail(tree, charsets)
  }
}
