import Testing

@testable import Migrator

@Suite struct MoveProgressTests {
  @Test func `the remaining time names what follows and was not counted`() {
    var progress = MoveProgress(title: "messages removed", rowsTotal: 300)
    progress.rowsDone = 100
    progress.milliseconds = 2_000
    #expect("\(progress)" == "messages removed: 100 of 300 rows, 50 a second, about 4 s left")
    progress.next = "visitors"
    #expect("\(progress)".hasSuffix("about 4 s left, then visitors"))
    progress.rowsDone = 300
    #expect("\(progress)" == "messages removed: 300 of 300 rows, 150 a second")
  }

  @Test func `a total that was too low is not said, and neither is a time`() {
    var progress = MoveProgress(title: "rows", rowsTotal: 10)
    progress.rowsDone = 11
    progress.milliseconds = 2_000
    #expect("\(progress)" == "rows: 11 rows, 5 a second")
  }
}
