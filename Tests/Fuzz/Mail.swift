// Fuzz target: e-mails, as `chirrup read-mail` reads them with GMime. What is left is within its
// limits, and is unchanged by writing and reading it again.
//
// GMime's objects are not released, as in that process, so the memory grows with the runs.
import Primitives

@testable import MailParsing

// SAFETY: libFuzzer calls the target on one thread.
private nonisolated(unsafe) let library = MailTree.Library()
private nonisolated(unsafe) let charsets = Charsets()

@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard let library else { preconditionFailure("GMime is not installed") }
  // SAFETY: libFuzzer gives `count` bytes; the copy is never released.
  let copy = UnsafeMutableBufferPointer<CChar>.allocate(capacity: count)
  _ = unsafe copy.initialize(
    from: UnsafeBufferPointer(start: start, count: count).map { CChar(bitPattern: $0) })
  // SAFETY: as above.
  guard let tree = unsafe MailTree(UnsafeBufferPointer(copy), library) else { return 0 }
  let mail = MailReading.mail(tree, charsets)
  precondition(mail.text.utf8.count <= ParsedMail.textBytesMax, "a long text")
  precondition(mail.files.count <= ParsedMail.filesMax, "too many files")
  precondition(
    mail.files.allSatisfy { $0.name.count <= ParsedMail.fileNameCharactersMax }, "a long name")
  precondition(
    !mail.text.utf8.contains(0) && !mail.from.utf8.contains(0), "a text with U+0000")
  precondition(mail.recipients.count <= ParsedMail.recipientsMax, "too many recipients")
  let again = ParsedMail(mail.output)
  precondition(again == mail, "reading gives another message than what was written")
  return 0
}
