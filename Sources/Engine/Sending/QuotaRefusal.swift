/// The texts of refused messages, by quota.
import Primitives

extension QuotaTable.Refusal {
  var sentence: StaticString {
    switch (subject, isOfBytes) {
    case (.visitor, false):
      "This visitor sends too many messages. Send again after retry_after_ms."
    case (.address, false):
      "Visitors of this address send too many messages. Send again after retry_after_ms."
    case (.workspace, false):
      "Visitors of this workspace send too many messages. Send again after retry_after_ms."
    case (.visitor, true):
      "This visitor has stored as much as a day allows. Send again after retry_after_ms."
    case (.address, true):
      "Visitors of this address have stored as much as a day allows. Retry after retry_after_ms."
    case (.workspace, true):
      "Visitors of this workspace have stored as much as a day allows. Retry after retry_after_ms."
    }
  }
}
