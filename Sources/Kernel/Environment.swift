import CLinux

/// The environment of this process. Libraries may read it at any time, so it must only be changed
/// while the process has one thread.
public enum Environment {
  /// Returns the value of a variable and removes it, so that no child inherits it.
  public static func take(_ name: String) -> String? {
    // SAFETY: the texts are copied in both directions.
    guard let value = unsafe getenv(name) else { return nil }
    let text = unsafe String(cString: value)
    unsafe _ = unsetenv(name)
    return text
  }

  /// Removes all variables whose names begin with `prefix`.
  public static func remove(prefix: String) {
    var names: [String] = []
    // SAFETY: the list ends with nil, does not change meanwhile, and each text is copied.
    var entry: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = unsafe chirrup_environment()
    while let text = unsafe entry?.pointee {
      let line = unsafe String(cString: text)
      if line.hasPrefix(prefix), let end = line.firstIndex(of: "=") {
        names.append(String(line[..<end]))
      }
      unsafe entry = entry?.advanced(by: 1)
    }
    // SAFETY: the name is copied into a C string for the call.
    for name in names { unsafe _ = unsetenv(name) }
  }
}
