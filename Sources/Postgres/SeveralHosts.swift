import CLibpq
import Glibc

/// A URL with several hosts names a primary and its standbys (manual 34.1.1.3). Migrations,
/// sessions and logins belong on the one that takes writes, whichever that is at the moment, so
/// every connection asks for it unless the URL says otherwise. With one host there is nothing to
/// choose, and a standby may be looked at.
enum SeveralHosts {
  static func areNamed(in url: String) -> Bool {
    // SAFETY: libpq copies the text; what it returns is freed below.
    guard let options = unsafe PQconninfoParse(url, nil) else { return false }
    defer { unsafe PQconninfoFree(options) }
    // SAFETY: the array ends with an entry that has no keyword; texts end with 0 and live as long.
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
