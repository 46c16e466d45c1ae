import Primitives

/// The parameters of one statement in PostgreSQL's binary form, in one buffer that is reused for
/// the next statement.
package struct ParameterBuffer {
  /// OIDs of `pg_type`, which never change.
  package enum TypeID: UInt32, Sendable {
    case unspecified = 0
    case bool = 16
    case bytea = 17
    case int8 = 20
    case text = 25
    case boolArray = 1000
    case textArray = 1009
    case int8Array = 1016
    case date = 1082
    case timestamptz = 1184
    case uuid = 2950
    case uuidArray = 2951
    case jsonb = 3802
    case jsonbArray = 3807
  }

  private(set) var types: [UInt32] = []
  /// The position of each value in `bytes`; nil is NULL.
  private(set) var extents: [Range<Int>?] = []
  private(set) var bytes: [UInt8] = []

  package init() {}

  package var count: Int { types.count }

  package mutating func removeAll() {
    types.removeAll(keepingCapacity: true)
    extents.removeAll(keepingCapacity: true)
    bytes.removeAll(keepingCapacity: true)
  }

  package mutating func append(_ type: TypeID, _ write: (inout [UInt8]) -> Void) {
    let start = bytes.count
    write(&bytes)
    types.append(type.rawValue)
    extents.append(start..<bytes.count)
  }

  package mutating func appendNull(_ type: TypeID) {
    types.append(type.rawValue)
    extents.append(nil)
  }

  package mutating func append(_ parameter: Parameter) {
    switch parameter {
    case .null: appendNull(.unspecified)
    case .bool(let value): append(.bool) { $0.append(value ? 1 : 0) }
    case .int(let value): append(.int8) { $0.append(bigEndian: UInt64(bitPattern: value)) }
    case .uuid(let value): append(.uuid) { value.appendBytes(to: &$0) }
    case .text(let value): append(.text) { $0.append(value) }
    case .utf8(let value): append(.text) { $0.append(contentsOf: value) }
    case .bytes(let value): append(.bytea) { $0.append(contentsOf: value) }
    case .json(let value):
      append(.jsonb) { bytes in
        bytes.append(ParameterBuffer.jsonbVersion)
        bytes.append(contentsOf: value)
      }
    case .time(let value):
      append(.timestamptz) {
        $0.append(bigEndian: UInt64(bitPattern: value.microseconds - microsecondsTo2000))
      }
    case .date(let day):
      append(.date) { bytes in
        let days = Int32(truncatingIfNeeded: day - Parameter.daysTo2000)
        bytes.append(bigEndian: UInt32(bitPattern: days))
      }
    case .uuids(let values):
      append(.uuidArray) { bytes in
        bytes.appendArrayHeader(element: .uuid, count: values.count)
        for value in values {
          bytes.appendLength(16)
          value.appendBytes(to: &bytes)
        }
      }
    case .ints(let values):
      append(.int8Array) { bytes in
        bytes.appendArrayHeader(element: .int8, count: values.count)
        for value in values {
          bytes.appendLength(8)
          bytes.append(bigEndian: UInt64(bitPattern: value))
        }
      }
    }
  }

  /// The byte before the text of a binary `jsonb`.
  package static let jsonbVersion: UInt8 = 1
}

extension Array where Element == UInt8 {
  /// Appends the header of a one-dimensional binary array; each element follows as its length and
  /// its bytes.
  package mutating func appendArrayHeader(element: ParameterBuffer.TypeID, count: Int) {
    append(bigEndian: UInt32(count == 0 ? 0 : 1))  // dimensions
    append(bigEndian: UInt32(1))  // may hold NULL
    append(bigEndian: element.rawValue)
    guard count > 0 else { return }
    append(bigEndian: UInt32(count))
    append(bigEndian: UInt32(1))  // index of the first element
  }

  package mutating func appendLength(_ length: Int) {
    append(bigEndian: UInt32(truncatingIfNeeded: length))
  }

  /// Appends a NULL element, whose length is -1.
  package mutating func appendNullElement() {
    append(bigEndian: UInt32.max)
  }
}
