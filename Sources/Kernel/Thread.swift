import CLinux

/// A POSIX thread that runs one closure, whose captures are sent to it.
public struct Thread: ~Copyable, Sendable {
  private let handle: pthread_t

  /// Passes the body to the new thread.
  private final class Parcel {
    let name: String
    let body: () -> Void

    init(name: String, body: sending @escaping () -> Void) {
      self.name = name
      self.body = body
    }

    func run() {
      let short = String(decoding: name.utf8.prefix(15), as: UTF8.self)
      // SAFETY: the text is copied during the call.
      _ = unsafe short.withCString { unsafe pthread_setname_np(pthread_self(), $0) }
      body()
    }
  }

  /// Starts a thread. `name` is shown in `top -H`, truncated to 15 bytes.
  public static func spawn(
    name: String, body: sending @escaping () -> Void
  ) throws(Errno) -> Thread {
    let parcel = Parcel(name: name, body: body)
    var handle = pthread_t()
    // SAFETY: the reference is retained here and released by the thread, or below if none was
    // created.
    let argument = unsafe Unmanaged.passRetained(parcel).toOpaque()
    // SAFETY: `handle` is written during the call; the thread takes the argument.
    let failure = unsafe pthread_create(
      &handle, nil,
      { argument in
        if let argument = unsafe argument {
          // SAFETY: balances `passRetained`, once.
          unsafe Unmanaged<Parcel>.fromOpaque(argument).takeRetainedValue().run()
        }
        return nil
      }, argument)
    guard failure == 0 else {
      // SAFETY: no thread was created that would release it.
      unsafe Unmanaged<Parcel>.fromOpaque(argument).release()
      throw Errno(rawValue: failure)
    }
    return Thread(handle: handle)
  }

  /// Suspends the calling thread. Unlike a wait for events it needs no descriptor, so it works when
  /// none is left.
  public static func sleep(milliseconds: Int64) {
    usleep(UInt32(clamping: milliseconds * 1_000))
  }

  /// Waits for the end of the thread.
  public consuming func join() {
    // At most once, because this consumes the handle.
    _ = pthread_join(handle, nil)
    discard self
  }

  deinit {
    // Not joined, so detach it.
    _ = pthread_detach(handle)
  }
}
