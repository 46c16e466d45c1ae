import Glibc

/// The one thing a run takes from outside.
enum Environment {
  static var seed: String? {
    // SAFETY: the name is a constant; the text is copied before anything can change it.
    guard let text = unsafe getenv("SEED") else { return nil }
    return unsafe String(cString: text)
  }
}
