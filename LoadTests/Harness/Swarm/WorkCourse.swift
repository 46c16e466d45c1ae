/// Options that the workloads share.
import ArgumentParser
import Foundation
import Kernel

struct WorkCourse: ParsableArguments {
  @Option(help: "Measured seconds.")
  var seconds = 5.0
  @Option(help: "Seconds of warm-up.")
  var warmUp = 1.0
  @Option(help: "The server's process id, for its processor time and memory.")
  var pid: Int?
  @Flag(help: "Compare every payload instead of a sample; slower, so not for figures.")
  var verify = false
  @Flag(
    help: """
      Poll without sleeping, because waking this process would cost a server on the same \
      machine processor time. Needs its own core.
      """)
  var busyPoll = false

  var milliseconds: Int64 { Int64(seconds * 1000) }
  var warmUpMilliseconds: Int64 { Int64(warmUp * 1000) }

  func check() throws {
    guard seconds > 0, seconds <= 86_400, warmUp >= 0, warmUp <= 3_600 else {
      throw ValidationError("--seconds must be up to 86400, --warm-up up to 3600")
    }
  }
}

/// Ensures descriptors for this many connections and a few more.
func allowDescriptors(_ connections: Int) throws {
  let needed = connections + 32
  let allowed = DescriptorLimit.raise()
  if allowed < needed {
    throw WorkFailure.tooManyDescriptors(needed: needed, allowed: allowed)
  }
}
