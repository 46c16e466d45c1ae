import Kernel
public import ObjectStorage
import Primitives
import Synchronization

/// Attachments as objects of a bucket, under the texts of their keys. An object is there when the
/// server has confirmed all of its bytes.
public struct S3Storage: AttachmentStorage {
  private let client: S3Client
  private let blocks = BlockCache()

  public init(_ settings: S3Settings) { client = S3Client(settings) }

  public func store(
    file path: String, as key: AttachmentKey, type: String
  ) throws(StorageFault) {
    let file: ReadableFile
    do throws(Errno) { file = try ReadableFile(path: path) } catch {
      throw StorageFault("the uploaded file cannot be read: \(error)")
    }
    try storing("store") { () throws(S3Fault) in try client.put(file, key: key.text) }
  }

  public func read(
    _ key: AttachmentKey, _ range: Range<Int64>
  ) throws(StorageFault) -> [UInt8] {
    var bytes: [UInt8] = []
    var position = range.lowerBound
    while position < range.upperBound {
      let start = position - position % BlockCache.blockBytes
      let name = BlockCache.Name(key: key, start: start)
      let block: [UInt8]
      if let known = blocks.block(name) {
        block = known
      } else {
        block = try storing("read") { () throws(S3Fault) in
          try client.read(key.text, from: start, count: Int(BlockCache.blockBytes))
        }
        blocks.keep(block, name)
      }
      let part = block.dropFirst(Int(position - start)).prefix(Int(range.upperBound - position))
      if part.isEmpty { return bytes }
      bytes += part
      position += Int64(part.count)
    }
    return bytes
  }

  public func byteCount(of key: AttachmentKey) throws(StorageFault) -> Int64 {
    let size = try storing("read") { () throws(S3Fault) in try client.size(of: key.text) }
    guard let size else { throw StorageFault("there is no such object", isMissing: true) }
    return size
  }

  public func remove(_ key: AttachmentKey) throws(StorageFault) {
    try storing("remove") { () throws(S3Fault) in try client.delete(key.text) }
  }

  /// Objects with other names are not the gateway's, and are passed over.
  public func keys(
    after last: AttachmentKey?, storedBefore time: Int64, limit: Int
  ) throws(StorageFault) -> [AttachmentKey] {
    var found: [AttachmentKey] = []
    var position = last?.text
    while true {
      let page = try storing("list") { () throws(S3Fault) in try client.list(after: position) }
      for object in page {
        position = object.key
        guard object.modifiedAt < time, let key = AttachmentKey(object.key) else { continue }
        found.append(key)
        if found.count == limit { return found }
      }
      if page.isEmpty { return found }
    }
  }

  private func storing<Answer>(
    _ operation: StaticString, _ body: () throws(S3Fault) -> Answer
  ) throws(StorageFault) -> Answer {
    do throws(S3Fault) {
      return try body()
    } catch {
      throw StorageFault(
        "the bucket could not \(operation) an attachment: \(error)",
        isMissing: error.kind == .notFound)
    }
  }
}

/// Downloads read pieces of 64 KiB, one after the other, and a request for each would take longer
/// than its bytes. So larger blocks are read, and the last ones are kept. An object never changes;
/// whether a download may still read it, its row decides.
private final class BlockCache: Sendable {
  struct Name: Hashable {
    var key: AttachmentKey
    var start: Int64
  }

  static let blockBytes: Int64 = 1 << 20
  /// 32 MiB in all.
  private static let countMax = 32

  private struct Blocks {
    var bytes: [Name: [UInt8]] = [:]
    /// The oldest first.
    var order: [Name] = []
  }

  private let blocks = Mutex(Blocks())

  func block(_ name: Name) -> [UInt8]? { blocks.withLock { $0.bytes[name] } }

  func keep(_ bytes: [UInt8], _ name: Name) {
    blocks.withLock { blocks in
      guard blocks.bytes.updateValue(bytes, forKey: name) == nil else { return }
      blocks.order.append(name)
      guard blocks.order.count > BlockCache.countMax else { return }
      blocks.bytes[blocks.order.removeFirst()] = nil
    }
  }
}
