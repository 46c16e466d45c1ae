import CLibpq
import Glibc

/// A URL with several hosts lists a primary and its standbys (manual 34.1.1.3). Migrations,
/// sessions and logins need the primary, so every connection requests it unless the URL says
/// otherwise. With one host there is no choice, and a connection to a standby is accepted.
enum SeveralHosts {
  static func areNamed(in url: String) -> Bool {
    // SAFETY: libpq copies the text; its result is freed below.
    guard let options = unsafe PQconninfoParse(url, nil) else { return false }
    defer { unsafe PQconninfoFree(options) }
    // SAFETY: the array ends with an entry without a keyword; its texts end with NUL and live as
    // long.
    var option = unsafe options
    while let keyword = unsafe option.pointee.keyword {
      let name = unsafe String(cString: keyword)
      if name == "host" || name == "hostaddr", let value = unsafe option.pointee.val,
        unsafe strchr(value, Int32(UInt8(ascii: ","))) != nil
      {
        return true
      }
      unsafe option = unsafe option.successor()
    }
    return false
  }
}
