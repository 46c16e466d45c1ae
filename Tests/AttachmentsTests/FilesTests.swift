import Foundation
import Kernel
import Primitives
import Testing

@testable import Attachments

/// The files of uploads and of the storage on disk.
@Suite struct FilesTests {
  private let folder = FileManager.default.temporaryDirectory.path + "/chirrup-files-\(UUID())"
  private let key = AttachmentKey(
    workspace: Identifier(high: 1, low: 2), id: Identifier(high: 3, low: 4))

  private func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8($0 % 251) } }

  @Test("parts are appended in order; repeated, early and long ones change nothing")
  func parts() throws {
    let uploads = UploadFolder(folder: folder)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let whole = bytes(100)
    func write(_ range: Range<Int>) throws -> UploadFolder.Written {
      try uploads.write(
        Array(whole[range]), at: Int64(range.lowerBound), of: key, byteCount: 90)
    }
    #expect(try uploads.received(key) == 0)
    #expect(try write(10..<20) == .elsewhere(received: 0))
    #expect(try write(0..<40) == .received(40))
    #expect(try write(0..<40) == .received(40))
    #expect(try write(10..<20) == .received(40))
    #expect(try write(30..<50) == .elsewhere(received: 40))
    #expect(try write(40..<100) == .elsewhere(received: 40))
    #expect(try write(40..<90) == .received(90))
    #expect(try write(90..<91) == .elsewhere(received: 90))
    let path = uploads.path(key)
    #expect(try BlockingFile(path, .read).read(200, at: 0) == Array(whole[0..<90]))
    try uploads.remove(key)
    #expect(try uploads.received(key) == 0)
  }

  @Test("while one request has an upload, another one is told so")
  func locks() throws {
    let uploads = UploadFolder(folder: folder)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    _ = try uploads.write([1], at: 0, of: key, byteCount: 9)
    do {
      let file = try BlockingFile(uploads.path(key), .write)
      #expect(try file.lock())
      #expect(try uploads.write([2], at: 1, of: key, byteCount: 9) == .busy)
    }
    #expect(try uploads.write([2], at: 1, of: key, byteCount: 9) == .received(2))
  }

  @Test("a stored file is read by ranges, listed by age, and removed for good")
  func storage() throws {
    let uploads = UploadFolder(folder: folder + "/uploads")
    let storage = DiskStorage(folder: folder + "/stored")
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let whole = bytes(1_000)
    _ = try uploads.write(whole, at: 0, of: key, byteCount: 1_000)
    try storage.store(file: uploads.path(key), as: key, type: "text/plain")
    #expect(try uploads.received(key) == 0)
    #expect(try storage.byteCount(of: key) == 1_000)
    #expect(try storage.read(key, 10..<20) == Array(whole[10..<20]))
    let now = Int64(Date().timeIntervalSince1970)
    #expect(try storage.keys(after: nil, storedBefore: now - 60, limit: 9) == [])
    #expect(try storage.keys(after: nil, storedBefore: now + 60, limit: 9) == [key])
    #expect(try storage.keys(after: key, storedBefore: now + 60, limit: 9) == [])
    try storage.remove(key)
    try storage.remove(key)
    #expect(throws: StorageFault.self) { try storage.read(key, 0..<1) }
  }

  @Test("pages of keys have each file once")
  func pages() throws {
    let storage = DiskStorage(folder: folder)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var all: [AttachmentKey] = []
    for workspace in 1...3 {
      for id in 1...5 {
        let key = AttachmentKey(
          workspace: Identifier(high: UInt64(workspace), low: 9),
          id: Identifier(high: UInt64(id), low: 9), isThumbnail: id == 5)
        let path = folder + "-\(workspace)-\(id)"
        try Data([1]).write(to: URL(filePath: path))
        try storage.store(file: path, as: key, type: "")
        all.append(key)
      }
    }
    var found: [AttachmentKey] = []
    while true {
      let page = try storage.keys(after: found.last, storedBefore: .max, limit: 4)
      if page.isEmpty { break }
      found += page
    }
    #expect(found == all)
  }

  @Test("the size of an image is read from its header", arguments: ["png", "gif", "jpeg", "webp"])
  func sizes(_ kind: String) throws {
    let path = folder + "-" + kind
    defer { try? FileManager.default.removeItem(atPath: path) }
    let heads: [String: [UInt8]] = [
      "png": Array(repeating: 0, count: 16) + [0, 0, 5, 0, 0, 0, 2, 208],
      "gif": Array("GIF89a".utf8) + [0, 5, 208, 2],
      "jpeg": [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 1, 1, 0xFF, 0xC0, 0, 17, 8, 2, 208, 5, 0, 3],
      "webp": Array("RIFF    WEBPVP8X".utf8) + [0, 0, 0, 0, 0, 0, 0, 0, 255, 4, 0, 207, 2, 0],
    ]
    try Data(try #require(heads[kind])).write(to: URL(filePath: path))
    let size = try ImageSize.read(try BlockingFile(path, .read), type: "image/\(kind)")
    #expect(size == ImageSize(width: 1_280, height: 720))
    try Data([0xFF, 0xD8, 0xFF]).write(to: URL(filePath: path))
    #expect(try ImageSize.read(try BlockingFile(path, .read), type: "image/\(kind)") == nil)
  }
}
