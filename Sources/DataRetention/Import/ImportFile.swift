/// One file of another system's export: a JSON object a line.
import JSON

public struct ImportFile {
  /// Bytes of a line, without its end. A conversation of Intercom with all parts is one line.
  public static let lineBytes = 16 * 1_024 * 1_024

  /// For the messages to the administrator.
  public var name: String
  /// The next line without its end; nil at the end of the file.
  public var next: () throws -> [UInt8]?

  public init(name: String, next: @escaping () throws -> [UInt8]?) {
    self.name = name
    self.next = next
  }

  /// Passes each object to `body`, whose `ImportRefusal.Reason` is thrown with the line's number.
  func forEach(_ body: (JSONValue) throws -> Void) throws {
    var number = 0
    while let line = try next() {
      number += 1
      do {
        guard !line.isEmpty else { continue }
        guard line.count <= Self.lineBytes else { throw ImportRefusal.Reason.tooLong }
        guard let value = JSONValue(ImportFile.withoutNUL(line)), value.object != nil else {
          throw ImportRefusal.Reason.noObject
        }
        try body(value)
      } catch let reason as ImportRefusal.Reason {
        throw ImportRefusal.line(file: name, number: number, reason)
      }
    }
  }

  /// JSON may have U+0000 as an escape, which no text of PostgreSQL has: it is left out.
  static func withoutNUL(_ line: [UInt8]) -> [UInt8] {
    let escape = Array(#"\u0000"#.utf8)
    guard line.firstRange(of: escape) != nil else { return line }
    var kept: [UInt8] = []
    kept.reserveCapacity(line.count)
    var at = 0
    while at < line.count {
      guard line[at] == UInt8(ascii: "\\") else {
        kept.append(line[at])
        at += 1
        continue
      }
      if line[at...].starts(with: escape) {
        at += escape.count
      } else {
        // The character after a backslash is part of its escape, also another backslash.
        kept.append(contentsOf: line[at..<min(at + 2, line.count)])
        at += 2
      }
    }
    return kept
  }
}

/// Why an export is not imported. Nothing of it was imported.
public enum ImportRefusal: Error, Equatable, CustomStringConvertible {
  case line(file: String, number: Int, Reason)
  /// The last line of a whole export is missing.
  case incomplete(file: String)
  case missingFile(String)

  public enum Reason: Error, Equatable {
    case noObject
    case tooLong
    /// A member that must be there and has to be of a type.
    case member(String)
    /// Another kind of object than the file has.
    case kind(String)
    /// The first line does not say that it is such an export, or names a later format.
    case header
    /// More lines follow the one that says that it is the last.
    case afterEnd
  }

  public var description: String {
    switch self {
    case .line(let file, let number, let reason):
      "\(file), line \(number): \(reason.text). Nothing was imported; export again"
    case .incomplete(let file):
      "\(file) ends before its last line, so the export was interrupted or had an error. Nothing "
        + "was imported; export again, and look at the messages of the export"
    case .missingFile(let name):
      "the folder has no \(name). Run the download again: it continues, and names a file so when "
        + "it is whole"
    }
  }
}

extension ImportRefusal.Reason {
  fileprivate var text: String {
    switch self {
    case .noObject:
      "not a JSON object in UTF-8 (at most \(JSONScanner.keysMax) members in an object, nested at "
        + "most \(JSONScanner.depthMax) deep)"
    case .tooLong: "longer than \(ImportFile.lineBytes) bytes"
    case .member(let name): "\"\(name)\" is missing, or not of its type"
    case .kind(let name): "not a \(name)"
    case .header: "not the first line of an export that this version reads"
    case .afterEnd: "after the export's last line"
    }
  }
}

extension JSONValue {
  /// An id: a whole number or a text.
  var key: String? {
    switch self {
    case .number(let digits): JSONValue.whole(digits[...]).map { "\($0)" }
    case .string(let text): isKey(text) ? text : nil
    default: nil
    }
  }

  private func isKey(_ text: String) -> Bool {
    (1...200).contains(text.utf8.count) && !text.utf8.contains { $0 <= 0x20 || $0 == 0x7F }
  }

  func key(_ member: String) throws(ImportRefusal.Reason) -> String {
    guard let key = self[member]?.key else { throw .member(member) }
    return key
  }

  /// Trimmed; nil without a letter.
  func text(_ member: String) -> String? {
    self[member]?.string.map { $0.trimmed }.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Whether it is true, or a number other than zero, as MariaDB has it.
  func flag(_ member: String) -> Bool {
    self[member]?.bool ?? ((self[member]?.int ?? 0) != 0)
  }
}
