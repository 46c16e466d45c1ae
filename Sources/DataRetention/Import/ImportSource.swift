/// What an import reads from another system: people, conversations and messages, in Chirrup's
/// terms. Lists are in the order of the other system. Contacts and conversations are read in pages,
/// each after the `place` of the last one.
protocol ImportSource {
  var system: ImportedSystem { get }
  /// For the progress.
  var messageCount: Int64 { get }

  func members() throws -> [ImportedMember]
  func teams() throws -> [ImportedTeam]
  func tags() throws -> [ImportedTag]
  func replies() throws -> [ImportedReply]
  func contacts(after last: Int64) throws -> [ImportedContact]
  func conversations(after last: Int64, limit: Int) throws -> [ImportedConversation]
  /// Passes the messages of the conversations after `first` up to `last`, each conversation's in
  /// their order, in pages.
  func messages(
    after first: Int64, upTo last: Int64, _ body: ([ImportedMessage]) throws -> Void
  ) throws
}
