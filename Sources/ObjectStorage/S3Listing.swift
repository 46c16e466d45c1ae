/// Lists the keys of a bucket (ListObjectsV2), for the search for objects that nothing refers to.
import Primitives

public struct S3Object: Equatable, Sendable {
  public var key: String
  /// Seconds since 1970.
  public var modifiedAt: Int64
}

extension S3Client {
  /// The most keys of one answer: each has about 300 bytes, and a key at most 1,024.
  public static let listedMax = 200
  private static let listingBytesMax = 512 << 10

  /// The keys behind `last` in the order of their bytes, at most `listedMax`; none at the end.
  public func list(after last: String?) throws(S3Fault) -> [S3Object] {
    var call = S3Call("GET", path: settings.path(of: ""))
    call.query = [("list-type", "2"), ("max-keys", "\(S3Client.listedMax)")]
    if let last { call.query.append(("start-after", last)) }
    call.answerBytesMax = S3Client.listingBytesMax
    call.isOfObject = false
    let body = try perform(call).body
    guard let objects = S3Client.objects(body) else {
      throw S3Fault(.other, "the server's list of objects cannot be read")
    }
    return objects
  }

  /// Nil for an answer that is no list, or has an object without key or time: a sweep must not take
  /// half a list for the whole.
  static func objects(_ body: [UInt8]) -> [S3Object]? {
    guard body.count <= listingBytesMax, S3Document(body).isRooted(in: "ListBucketResult") else {
      return nil
    }
    let (begin, end) = (Array("<Contents>".utf8), Array("</Contents>".utf8))
    var objects: [S3Object] = []
    var position = 0
    while let open = body[position...].firstRange(of: begin) {
      guard let close = body[open.upperBound...].firstRange(of: end) else { return nil }
      let part = S3Document(Array(body[open.upperBound..<close.lowerBound]))
      guard let key = part.text(of: "Key"), !key.isEmpty,
        let time = part.text(of: "LastModified").flatMap({ seconds($0) })
      else { return nil }
      objects.append(S3Object(key: key, modifiedAt: time))
      position = close.upperBound
    }
    return objects
  }

  /// Of `2009-10-12T17:50:30.000Z`, the only form that S3 uses.
  static func seconds(_ text: String) -> Int64? {
    let bytes = Array(text.utf8)
    guard bytes.count >= 20, bytes.last == UInt8(ascii: "Z") else { return nil }
    func number(_ start: Int, _ count: Int) -> Int64? {
      let digits = bytes[start..<start + count]
      guard digits.allSatisfy(\.isASCIIDigit) else { return nil }
      return digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }
    guard let year = number(0, 4), let month = number(5, 2), let day = number(8, 2),
      let hour = number(11, 2), let minute = number(14, 2), let second = number(17, 2),
      (1970...9999).contains(year), (1...12).contains(month), (1...31).contains(day),
      hour < 24, minute < 60, second <= 60,
      "--T::".utf8.elementsEqual([4, 7, 10, 13, 16].map { bytes[$0] })
    else { return nil }
    // Years that begin in March, so that the leap day is the last: see `WallTime`.
    let shifted = month > 2 ? year : year - 1
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let days = 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
    return days * 86_400 + hour * 3_600 + minute * 60 + second
  }
}
