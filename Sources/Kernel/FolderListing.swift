import CLinux

/// The names in a folder.
public enum FolderListing {
  /// The names in a folder, sorted, without hidden ones.
  public static func names(in folder: String) throws(Errno) -> [String] {
    // SAFETY: the stream is closed below, and each entry is copied before the next call of readdir.
    guard let stream = unsafe opendir(folder) else { throw Errno.current }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while let entry = unsafe readdir(stream) {
      let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted()
  }
}
