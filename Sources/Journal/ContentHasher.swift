import Chat
import OpenSSL
import Postgres

/// Computes the hash of entries without payload, by the rule of `ContentHash`. A payload is hashed
/// in the form that PostgreSQL gives it, so PostgreSQL does that.
struct ContentHasher: ~Copyable {
  private let context = SHA256Context()

  func append(hashOf batch: borrowing Batch, _ row: Int, to bytes: inout [UInt8]) {
    context.begin()
    context.update(batch.record(row).kind.text)
    // The line feeds before and behind the empty payload.
    context.update("\n\n")
    batch.withBody(row) { context.update($0) }
    context.finish(to: &bytes)
  }

  /// An element of an array: NULL for an entry with a payload.
  func appendElement(hashOf batch: borrowing Batch, _ row: Int, to bytes: inout [UInt8]) {
    let hasPayload = batch.withPayload(row) { $0.byteCount > 0 }
    guard !hasPayload else { return bytes.appendNullElement() }
    bytes.appendLength(SHA256.byteCount)
    append(hashOf: batch, row, to: &bytes)
  }
}
