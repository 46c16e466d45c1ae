/// Options that the workloads share: how long, whose processor time.
import ArgumentParser
import Foundation
import Kernel

struct WorkCourse: ParsableArguments {
  @Option(help: "Seconds that are measured.")
  var seconds = 5.0
  @Option(help: "Seconds before that.")
  var warmUp = 1.0
  @Option(help: "Process id of the server, to report its processor time and memory.")
  var pid: Int?
  @Flag(help: "Compare every payload, not some: for a proof, not for figures.")
  var verify = false
  @Flag(
    help: """
      Never sleep while nothing comes: who sleeps has to be woken, which a server on the same \
      machine does at its own cost. Wants a core of its own.
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

/// Descriptors for so many connections, and a few.
func allowDescriptors(_ connections: Int) throws {
  let needed = connections + 32
  let allowed = DescriptorLimit.raise()
  if allowed < needed {
    throw WorkFailure.tooManyDescriptors(needed: needed, allowed: allowed)
  }
}
