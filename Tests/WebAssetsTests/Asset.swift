/// The embedded files as values.
import Foundation
import WebAssets

struct Asset: Sendable {
  var path: String
  /// The path without the hash of the content.
  var name: String
  var type: String
  var plain: [UInt8]
  /// Empty if compression saves too little.
  var gzip: [UInt8]
  var brotli: [UInt8]
  var text: String { String(decoding: plain, as: UTF8.self) }

  static let all: [Asset] = {
    var count: UInt = 0
    // SAFETY: the table and what it points to are immutable and live as long as the process
    // (web_assets.h).
    guard let table = unsafe chirrup_assets(&count) else { return [] }
    return (0..<Int(count)).map { index in
      // SAFETY: as above; `index` is below the count that came with the table.
      let asset = unsafe table[index]
      return unsafe Asset(
        path: String(cString: asset.path), name: String(cString: asset.name),
        type: String(cString: asset.content_type), plain: bytes(asset.plain),
        gzip: bytes(asset.gzip), brotli: bytes(asset.brotli))
    }
  }()

  static func named(_ name: String) -> Asset? { all.first { $0.name == name } }
  static func at(_ path: String) -> Asset? { all.first { $0.path == path } }

  @unsafe private static func bytes(_ form: chirrup_form) -> [UInt8] {
    // SAFETY: the form has this many bytes, and none where there is no such form.
    unsafe Array(UnsafeBufferPointer(start: form.bytes, count: Int(form.length)))
  }
}

/// The content of a gzip file.
func inflated(_ bytes: [UInt8]) throws -> [UInt8] {
  let gzip = Process()
  gzip.executableURL = URL(filePath: "/usr/bin/gzip")
  gzip.arguments = ["-d", "--stdout"]
  let input = Pipe()
  let output = Pipe()
  gzip.standardInput = input
  gzip.standardOutput = output
  try gzip.run()
  // A pipe has a limited buffer, so the input is written while the output is read.
  let file = input.fileHandleForWriting
  let writer = Thread {
    try? file.write(contentsOf: Data(bytes))
    try? file.close()
  }
  writer.start()
  let made = try output.fileHandleForReading.readToEnd() ?? Data()
  gzip.waitUntilExit()
  return gzip.terminationStatus == 0 ? Array(made) : []
}
