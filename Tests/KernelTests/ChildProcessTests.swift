import Kernel
import Primitives
import Testing

private func shell(_ script: String) -> Command {
  var command = Command("sh", ["-c", script])
  command.output = .capture
  return command
}

@Suite struct ChildProcessTests {
  @Test("a program's output and exit status are returned")
  func run() throws {
    let finished = try ChildProcess.run(shell("printf 'one two'; exit 3"))
    #expect(finished.text == "one two")
    #expect(finished.status == .exited(3) && !finished.status.isSuccess)
    #expect(try ChildProcess.run(Command("true")).status.isSuccess)
  }

  @Test("arguments are passed unchanged, without a shell")
  func arguments() throws {
    var command = Command("printf", ["%s|", "a b", "$HOME", "`id`", "'\"", ""])
    command.output = .capture
    #expect(try ChildProcess.run(command).text == "a b|$HOME|`id`|'\"||")
  }

  @Test("environment and working directory are the ones given")
  func surroundings() throws {
    var command = Command("/bin/sh", ["-c", "echo $COLOUR; pwd"])
    command.environment = ["COLOUR=green"]
    command.workingDirectory = "/usr"
    command.output = .capture
    #expect(try ChildProcess.run(command).text == "green\n/usr\n")
  }

  @Test("errors are captured with the output, discarded, or kept in a file")
  func errors() throws {
    var command = shell("echo out; echo err >&2")
    command.errors = .capture
    #expect(try ChildProcess.run(command).text == "out\nerr\n")
    command.errors = .discard
    #expect(try ChildProcess.run(command).text == "out\n")
    let path = "/tmp/chirrup-test-\(Random.uint64())"
    command.errors = .file(path)
    _ = try ChildProcess.run(command)
    _ = try ChildProcess.run(command)
    #expect(try ChildProcess.run(shell("cat \(path); rm \(path)")).text == "err\nerr\n")
  }

  @Test("a large output does not block the program")
  func largeOutput() throws {
    let finished = try ChildProcess.run(shell("head -c 1000000 /dev/zero"))
    #expect(finished.output.count == 1_000_000 && finished.status.isSuccess)
  }

  @Test("a missing program is an error of the caller")
  func missing() {
    #expect(throws: Errno.noEntry) { try ChildProcess.run(Command("no-such-program")) }
  }

  @Test("a signal ends a program, and the status contains its number")
  func signal() throws {
    var child = try ChildProcess.spawn(Command("sleep", ["1000"]))
    #expect(try child.poll() == nil)
    try child.send(.terminate)
    #expect(try child.wait() == .signaled(15))
    #expect(try child.wait() == .signaled(15))
    #expect(try child.poll() == .signaled(15))
    try child.send(.kill)
  }

  @Test("a released process is killed and reaped")
  func dropped() throws {
    let identifier: Int32
    do {
      let child = try ChildProcess.spawn(Command("sleep", ["1000"]))
      identifier = child.processIdentifier
    }
    #expect(try !ChildProcess.run(shell("kill -0 \(identifier) 2>&1")).status.isSuccess)
  }

  @Test("a program can have its own process group, and inherits no descriptor")
  func isolation() throws {
    let pair = try Sockets.pair()
    // `ls` itself has one descriptor: the directory it reads.
    let open = try ChildProcess.run(shell("ls /proc/self/fd | sort -n | tr '\\n' ' '"))
    #expect(open.text == "0 1 2 3 ")
    #expect(pair.first.rawValue > 2)
    var command = shell("cut -d' ' -f1,5 /proc/self/stat; cut -d' ' -f1,5 /proc/$$/stat")
    command.hasOwnGroup = true
    let lines = try ChildProcess.run(command).text.split(separator: "\n")
    let numbers = lines.last?.split(separator: " ") ?? []
    #expect(numbers.count == 2 && numbers.first == numbers.last)
  }
}
