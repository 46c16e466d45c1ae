import Compression
import OpenSSL
import Primitives
import REST
import Wire

/// Compresses the lists of the REST API (RFC 9110 §8.4): one page of 100 conversations has 90 KB,
/// which take half a second on a slow mobile network.
///
/// The length of a compressed answer depends on repetitions between a secret and a text that an
/// attacker chooses (BREACH, CVE-2013-3587). Therefore only lists for members are compressed: they
/// contain no token, key, password or note, and a page of another site cannot cause the request
/// with the cookie (SameSite=Strict) or a bearer token. A visitor's text stands beside those of
/// others in a list of conversations; against a visitor who also observes the
/// operator's network, each answer is prolonged by a random number of bytes.
enum ListCoding {
  /// A shorter body fits into one packet with its head.
  static let bytesMin = 1_200
  /// The loop compresses, so the body's size bounds the time.
  static let bytesMax = 256 << 10
  /// The worst texts have eight letters in any order, and visitors can store them. Of those, 128
  /// KiB take 18 ms at level 6 and 7 ms at level 5; 256 KiB take 19 ms at level 5 and 8 ms at level
  /// 4. A page of 100 conversations is 3 % larger at level 5 than at level 6.
  static func level(bytes: Int) -> Int { bytes <= 128 << 10 ? 5 : 4 }
  static let paddingMax = 63

  static func apply(to response: inout APIResponse, _ fields: HeadFields) {
    guard response.status == 200, let route = response.route, API.isList(route) else { return }
    response.headers.append(("Vary", "Accept-Encoding"))
    guard (bytesMin...bytesMax).contains(response.body.count),
      let coding = AcceptEncoding.preferred(fields, among: [.gzip])
    else { return }
    response.headers.append(("Content-Encoding", coding.rawValue))
    response.body = padded(
      response.body.withRawSpan {
        Deflater.gzip($0, level: level(bytes: $0.byteCount))
      })
  }

  /// Adds a file name of random length to the header, which every decoder skips (RFC 1952 §2.3.1).
  private static func padded(_ gzip: [UInt8]) -> [UInt8] {
    let count = Int(SecureRandom.bytes(1)[0]) & paddingMax
    var output = gzip
    output[3] |= 0x08  // FLG.FNAME
    output.insert(contentsOf: [UInt8](repeating: 0x78, count: count) + [0], at: 10)
    return output
  }
}
