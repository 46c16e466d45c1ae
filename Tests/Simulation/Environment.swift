import Glibc

/// The environment of the process.
enum Environment {
  static var seed: String? {
    // SAFETY: the name is a constant; the text is copied before anything can change it.
    guard let text = unsafe getenv("SEED") else { return nil }
    return unsafe String(cString: text)
  }
}
