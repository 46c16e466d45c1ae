import CLinux

/// The names of this process, for logs and for other processes.
public enum ThisProcess {
  public static var id: Int32 { getpid() }

  /// The host's name, as gethostname(2) returns it, cut after 64 bytes; empty if it has none.
  public static var host: String {
    var name = [CChar](repeating: 0, count: 65)
    // SAFETY: the last byte stays zero, whatever the call writes before it.
    guard unsafe gethostname(&name, name.count - 1) == 0 else { return "" }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
