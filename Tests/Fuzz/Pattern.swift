// Fuzz target: an administrator's pattern is compiled, and matched against a visitor's text, within
// their budgets.
//
// The input up to the first newline is the pattern, the rest is the text.
import Automation

/// Few enough that a match is within the time limit of the shortest input.
private let looksMax = 20_000

@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  // SAFETY: libFuzzer gives `count` bytes that live for the call.
  let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  let cut = input.firstIndex(of: 0x0A) ?? input.count
  let source = String(decoding: input[..<cut], as: UTF8.self)
  let text = String(decoding: input[cut...].dropFirst(), as: UTF8.self)
  var pattern: Pattern?
  paced(count) { pattern = compile(source) }
  guard let pattern else { return 0 }
  var folded: [UInt32] = []
  paced(count) { folded = Folding.fold(text).unicodeScalars.map { $0.value } }
  var answer: Bool?
  paced(count) { answer = match(pattern, folded) }
  guard let answer else { return 0 }
  // A group or another branch must not change the result.
  if let grouped = compile("(?:\(source))"), let again = match(grouped, folded) {
    precondition(again == answer, "a group changes the result")
  }
  if answer, let branched = compile("\u{E000}|(?:\(source))") {
    precondition(match(branched, folded) != false, "another branch finds less")
  }
  return 0
}

/// Nil when the pattern is refused.
private func compile(_ source: String) -> Pattern? {
  // With the budget of a workspace, and with that of one pattern.
  var small = PatternBudget.onePattern
  let isRefused = attempt(source, &small) == nil
  var budget = PatternBudget.workspace
  let pattern = attempt(source, &budget)
  precondition((pattern == nil) == isRefused, "refusal depends on the workspace's budget")
  guard let pattern else { return nil }
  precondition(pattern.stepCount <= PatternBudget.onePattern.steps, "too many steps")
  let spent = PatternBudget.workspace.steps - budget.steps
  precondition(spent == pattern.stepCount, "uncharged steps")
  return pattern
}

private func attempt(_ source: String, _ budget: inout PatternBudget) -> Pattern? {
  let before = budget
  defer {
    // Holds for refused patterns too.
    precondition(before.visits - budget.visits <= PatternBudget.onePattern.visits, "visits")
    precondition(before.steps - budget.steps <= PatternBudget.onePattern.steps, "steps")
    precondition(before.bytes - budget.bytes <= PatternBudget.onePattern.bytes, "bytes")
    precondition(
      budget.visits >= 0 && budget.steps >= 0 && budget.bytes >= 0, "an overspent budget")
  }
  do throws(PatternFault) {
    return try Pattern(source, within: &budget)
  } catch {
    precondition(!error.sentence.isEmpty, "refused without a reason")
    return nil
  }
}

/// Nil when the budget of looks is exhausted.
private func match(_ pattern: Pattern, _ text: [UInt32]) -> Bool? {
  var looks = looksMax
  let answer = pattern.matches(folded: text, looks: &looks)
  // The budget is checked once for each character.
  precondition(looks >= -Pattern.looksOfCharacterMax, "looks beyond the budget: \(looks)")
  if answer == nil { precondition(looks < 0, "given up before the budget is exhausted") }
  return answer
}
