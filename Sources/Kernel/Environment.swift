import CLinux

/// The environment of this process. Libraries read it at any time, so it is changed while one
/// thread runs.
public enum Environment {
  /// Takes every variable away whose name begins so.
  public static func remove(prefix: String) {
    var names: [String] = []
    // SAFETY: the list ends with nil, nothing changes it meanwhile, and each text is copied.
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
