import CLinux

/// The end of this process without anything that `exit` would do first, such as functions of
/// libraries that a thread may still be in.
public enum ProcessEnd {
  public static func now(status: Int32) -> Never { _exit(status) }
}
