/// The embedded files as values.
import Foundation
import WebAssets

struct Asset: Sendable {
  var path: String
  var type: String
  var text: String
  /// The gzip file that is sent to who accepts one; empty where the gateway makes it.
  var gzip: [UInt8]
  var byteCount: Int { text.utf8.count }

  static let all: [Asset] = {
    var count: UInt = 0
    // SAFETY: the table and what it points to are immutable and live as long as the process
    // (web_assets.h).
    guard let table = unsafe chirrup_assets(&count) else { return [] }
    return (0..<Int(count)).map { index in
      // SAFETY: as above; `index` is below the count that came with the table.
      let asset = unsafe table[index]
      return unsafe Asset(
        path: String(cString: asset.path), type: String(cString: asset.content_type),
        text: String(
          decoding: UnsafeBufferPointer(start: asset.bytes, count: Int(asset.length)),
          as: UTF8.self),
        gzip: Array(UnsafeBufferPointer(start: asset.gzip, count: Int(asset.gzip_length))))
    }
  }()

  static func at(_ path: String) -> Asset? { all.first { $0.path == path } }

}

/// What gzip makes of bytes: with `-9`, as small as it can, with `-d` what they were.
func gzip(_ option: String, _ bytes: [UInt8]) throws -> [UInt8] {
  let gzip = Process()
  gzip.executableURL = URL(filePath: "/usr/bin/gzip")
  gzip.arguments = [option, "--stdout"]
  let input = Pipe()
  let output = Pipe()
  gzip.standardInput = input
  gzip.standardOutput = output
  try gzip.run()
  // More than a pipe holds goes in while something comes out.
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

/// A text as our own gzip file.
func squeezed(_ text: String) -> [UInt8] {
  let bytes = Array(text.utf8)
  var room = [UInt8](repeating: 0, count: bytes.count)
  let length = unsafe bytes.withUnsafeBufferPointer { bytes in
    // SAFETY: it reads `bytes` and writes fewer (squeeze.h).
    unsafe room.withUnsafeMutableBufferPointer { room in
      unsafe chirrup_squeeze(bytes.baseAddress, UInt(bytes.count), room.baseAddress)
    }
  }
  return Array(room.prefix(Int(length)))
}

/// What becomes of sources on their way.
// SAFETY: both fulfil what `pack` asks of a packer (pack.h).
func packed(modules: [String]) -> String { unsafe pack(modules, with: chirrup_pack_modules) }
func packed(styles: [String]) -> String { unsafe pack(styles, with: chirrup_pack_styles) }

/// A file of languages/ as it is sent.
func packed(texts: String, instead: String, list: String) -> String {
  let files = [Array(list.utf8), Array(texts.utf8), Array(instead.utf8)]
  var room = [UInt8](repeating: 0, count: files.reduce(64) { $0 + $1.count })
  // SAFETY: it reads the three files and writes less than they have together (pack.h).
  let length = unsafe files[0].withUnsafeBufferPointer { list in
    unsafe files[1].withUnsafeBufferPointer { texts in
      unsafe files[2].withUnsafeBufferPointer { instead in
        unsafe room.withUnsafeMutableBufferPointer { room in
          unsafe chirrup_pack_words(
            chirrup_part(bytes: list.baseAddress, length: UInt(list.count)),
            chirrup_part(bytes: texts.baseAddress, length: UInt(texts.count)),
            chirrup_part(bytes: instead.baseAddress, length: UInt(instead.count)),
            room.baseAddress)
        }
      }
    }
  }
  return String(decoding: room.prefix(Int(length)), as: UTF8.self)
}

/// A packed script with functions in place of its classes.
func withoutClasses(_ script: String) -> String {
  let bytes = Array(script.utf8)
  var room = [UInt8](repeating: 0, count: 2 * bytes.count)
  let length = unsafe bytes.withUnsafeBufferPointer { bytes in
    // SAFETY: it reads `bytes` and writes at most twice as many (shorten.h).
    unsafe room.withUnsafeMutableBufferPointer { room in
      unsafe chirrup_open_classes(bytes.baseAddress, UInt(bytes.count), room.baseAddress)
    }
  }
  return String(decoding: room.prefix(Int(length)), as: UTF8.self)
}

/// A text in which classes have one letter.
func renamed(_ looks: String, in text: String, isScript: Bool) -> String {
  var bytes = Array(text.utf8)
  let count = UInt(bytes.count)
  let length = unsafe bytes.withUnsafeMutableBufferPointer { bytes in
    // SAFETY: it changes `bytes` in place and makes them fewer (shorten.h).
    unsafe chirrup_rename_looks(bytes.baseAddress, count, looks, isScript)
  }
  return String(decoding: bytes.prefix(Int(length)), as: UTF8.self)
}

/// A packed script with short names.
func withShortNames(_ script: String, inner: String? = nil) -> String {
  let bytes = Array(script.utf8)
  var room = [UInt8](repeating: 0, count: 2 * bytes.count)
  let length = unsafe bytes.withUnsafeBufferPointer { bytes in
    // SAFETY: it reads `bytes` and writes at most twice as many (shorten.h).
    unsafe room.withUnsafeMutableBufferPointer { room in
      unsafe chirrup_shorten(
        bytes.baseAddress, UInt(bytes.count), inner, room.baseAddress)
    }
  }
  return String(decoding: room.prefix(Int(length)), as: UTF8.self)
}

private func pack(
  _ sources: [String],
  with join: (UnsafePointer<chirrup_part>?, UInt, UnsafeMutablePointer<UInt8>?) -> UInt
) -> String {
  let bytes = sources.map { Array($0.utf8) }
  let starts = bytes.indices.map { bytes[..<$0].reduce(0) { $0 + $1.count } }
  let joined = bytes.flatMap(\.self)
  var room = [UInt8](repeating: 0, count: joined.count + sources.count)
  let length = unsafe joined.withUnsafeBufferPointer { joined in
    let parts = unsafe bytes.indices.map { index in
      // SAFETY: each start lies within `joined`, which outlives the call.
      unsafe chirrup_part(
        bytes: joined.baseAddress.map { unsafe $0 + starts[index] },
        length: UInt(bytes[index].count))
    }
    // SAFETY: the packer reads `parts` and writes at most as many bytes as they have, and a line
    // break each.
    return unsafe parts.withUnsafeBufferPointer { parts in
      unsafe room.withUnsafeMutableBufferPointer { room in
        unsafe join(parts.baseAddress, UInt(parts.count), room.baseAddress)
      }
    }
  }
  return String(decoding: room.prefix(Int(length)), as: UTF8.self)
}
