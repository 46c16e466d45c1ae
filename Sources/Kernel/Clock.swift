import CLinux
public import Primitives

/// The only place that reads clocks.
public enum SystemClock {
  /// CLOCK_MONOTONIC.
  public static func now() -> Instant {
    let time = read(CLOCK_MONOTONIC)
    return Instant(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
  }

  /// CLOCK_REALTIME.
  public static func wallTime() -> WallTime {
    let time = read(CLOCK_REALTIME)
    return WallTime(microseconds: Int64(time.tv_sec) &* 1_000_000 &+ Int64(time.tv_nsec) / 1000)
  }

  /// Processor time of this thread in nanoseconds.
  public static func threadTimeNanoseconds() -> Int64 {
    let time = read(CLOCK_THREAD_CPUTIME_ID)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }

  /// Processor time of all threads of this process in nanoseconds.
  static func processTimeNanoseconds() -> Int64 {
    let time = read(CLOCK_PROCESS_CPUTIME_ID)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }

  /// CLOCK_BOOTTIME, in which the kernel gives the start of a process.
  static func sinceBootNanoseconds() -> Int64 {
    let time = read(CLOCK_BOOTTIME)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }

  private static func read(_ clock: clockid_t) -> timespec {
    var time = timespec()
    // SAFETY: `time` is written during the call.
    let result = unsafe clock_gettime(clock, &time)
    precondition(result == 0, "clock_gettime failed")
    return time
  }
}

public enum SystemProcessors {
  /// The number of online processors.
  public static var count: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
}
