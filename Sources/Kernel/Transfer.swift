import CLinux

/// The result of a read from a socket or a pipe.
public enum ReadOutcome: Equatable, Sendable {
  /// At least one.
  case bytes(Int)
  case wouldBlock
  case endOfStream
  /// The peer or the network ended the connection; this is no error of ours.
  case reset
  case failed(Errno)
}

/// The result of a write to a socket or a pipe.
public enum WriteOutcome: Equatable, Sendable {
  /// The number of bytes that the kernel accepted, often fewer than given.
  case bytes(Int)
  case wouldBlock
  case reset
  case failed(Errno)
}

extension FileDescriptor {
  /// Receives into the buffer from `offset` to its end. For sockets.
  public func receive(into buffer: inout MutableRawSpan, from offset: Int = 0) -> ReadOutcome {
    precondition(offset >= 0 && offset < buffer.byteCount, "no room to receive into")
    let number = rawValue
    // SAFETY: the pointer and the count describe the rest of the buffer, which outlives the call.
    let count = unsafe buffer.withUnsafeMutableBytes { bytes in
      repeating {
        unsafe recv(number, bytes.baseAddress?.advanced(by: offset), bytes.count - offset, 0)
      }
    }
    return readOutcome(count)
  }

  /// Copies received bytes without consuming them (MSG_PEEK). For sockets.
  public func peek(into buffer: inout MutableRawSpan) -> ReadOutcome {
    precondition(buffer.byteCount > 0, "no room to receive into")
    let number = rawValue
    let flags = Int32(MSG_PEEK)
    // SAFETY: as in `receive`.
    let count = unsafe buffer.withUnsafeMutableBytes { bytes in
      repeating { unsafe recv(number, bytes.baseAddress, bytes.count, flags) }
    }
    return readOutcome(count)
  }

  /// Sends bytes from `offset` on, without a SIGPIPE (MSG_NOSIGNAL). For sockets.
  public func send(_ bytes: RawSpan, from offset: Int = 0) -> WriteOutcome {
    precondition(offset >= 0 && offset <= bytes.byteCount, "offset outside the bytes")
    let number = rawValue
    let flags = Int32(MSG_NOSIGNAL)
    // SAFETY: the pointer and the count describe the rest of the bytes, which outlive the call.
    let count = unsafe bytes.withUnsafeBytes { raw in
      repeating {
        unsafe CLinux.send(number, raw.baseAddress?.advanced(by: offset), raw.count - offset, flags)
      }
    }
    return writeOutcome(count)
  }

  /// Reads from any descriptor.
  public func read(into buffer: inout MutableRawSpan, from offset: Int = 0) -> ReadOutcome {
    precondition(offset >= 0 && offset < buffer.byteCount, "no room to read into")
    let number = rawValue
    // SAFETY: as in `receive`.
    let count = unsafe buffer.withUnsafeMutableBytes { bytes in
      repeating {
        unsafe CLinux.read(number, bytes.baseAddress?.advanced(by: offset), bytes.count - offset)
      }
    }
    return readOutcome(count)
  }

  /// Writes to any descriptor. Without a reader of the pipe, SIGPIPE ends the process unless it is
  /// ignored.
  public func write(_ bytes: RawSpan, from offset: Int = 0) -> WriteOutcome {
    precondition(offset >= 0 && offset <= bytes.byteCount, "offset outside the bytes")
    let number = rawValue
    // SAFETY: as in `send`.
    let count = unsafe bytes.withUnsafeBytes { raw in
      repeating {
        unsafe CLinux.write(number, raw.baseAddress?.advanced(by: offset), raw.count - offset)
      }
    }
    return writeOutcome(count)
  }
}

@inline(__always)
private func repeating(_ call: () -> Int) -> Int {
  while true {
    let count = call()
    if count != -1 || chirrup_errno() != EINTR { return count }
  }
}

private func readOutcome(_ count: Int) -> ReadOutcome {
  if count > 0 { return .bytes(count) }
  if count == 0 { return .endOfStream }
  switch chirrup_errno() {
  case EAGAIN: return .wouldBlock
  case ECONNRESET, EPIPE, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, ENETDOWN, ECONNABORTED:
    return .reset
  default: return .failed(.current)
  }
}

private func writeOutcome(_ count: Int) -> WriteOutcome {
  if count >= 0 { return .bytes(count) }
  switch chirrup_errno() {
  case EAGAIN: return .wouldBlock
  case ECONNRESET, EPIPE, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, ENETDOWN, ECONNABORTED:
    return .reset
  default: return .failed(.current)
  }
}
