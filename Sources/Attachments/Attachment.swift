public import Directory
import JSON
import Postgres
public import Primitives

/// An uploaded file: the row of the table `chat_attachments`.
public struct Attachment: Sendable, Equatable {
  /// uploading → stored → bound; each of them may become removed.
  public enum State: String, Sendable {
    /// Its parts are received. How many bytes there are, the file tells (`UploadFolder`).
    case uploading
    /// Its bytes are safe, and no message has it.
    case stored
    /// It belongs to a message.
    case bound
    /// Nobody can get it; the sweep removes its bytes, and then the row.
    case removed
  }

  public var workspace: Identifier
  public var id: Identifier
  public var session: Identifier
  /// The visitor, operator or API key.
  public var uploader: Identifier
  public var isOfVisitor: Bool
  public var name: String
  /// Of the whole file; of a stored one as it is stored.
  public var byteCount: Int64
  /// Nil until it is judged.
  public var type: String?
  public var alt: String?
  public var width: Int64?
  public var height: Int64?
  public var hasThumbnail: Bool
  public var state: State
  public var message: Identifier?

  public var key: AttachmentKey { AttachmentKey(workspace: workspace, id: id) }
  public var thumbnailKey: AttachmentKey {
    AttachmentKey(workspace: workspace, id: id, isThumbnail: true)
  }

  static let columns: SQL = """
    a.workspace_id, a.id, a.session_id, a.uploader_id, a.is_of_visitor, a.name, a.bytes, a.type,
    a.alt, a.width::bigint, a.height::bigint, a.has_thumbnail, a.state, a.message_id
    """

  /// Reads `columns`, which begin at `first`.
  init?(_ rows: Rows, _ row: Int, from first: Int = 0) {
    guard let workspace = rows.uuid(row, first), let id = rows.uuid(row, first + 1),
      let session = rows.uuid(row, first + 2), let uploader = rows.uuid(row, first + 3),
      let state = rows.text(row, first + 12).flatMap({ State(rawValue: $0) })
    else { return nil }
    self.workspace = workspace
    self.id = id
    self.session = session
    self.uploader = uploader
    isOfVisitor = rows.bool(row, first + 4) ?? false
    name = rows.text(row, first + 5) ?? ""
    byteCount = rows.int(row, first + 6) ?? 0
    type = rows.text(row, first + 7)
    alt = rows.text(row, first + 8)
    width = rows.int(row, first + 9)
    height = rows.int(row, first + 10)
    hasThumbnail = rows.bool(row, first + 11) ?? false
    self.state = state
    message = rows.uuid(row, first + 13)
  }

  static func all(_ rows: Rows) -> [Attachment] {
    (0..<rows.count).compactMap { Attachment(rows, $0) }
  }
}

extension Attachment {
  /// The members of a message's payload, which responses have too.
  public func appendMembers(to json: inout [UInt8]) {
    json.appendMember("id", id)
    json.appendMember("name", name)
    if let type { json.appendMember("type", type) }
    json.appendMember("bytes", byteCount)
    if let width, let height {
      json.appendMember("width", width)
      json.appendMember("height", height)
    }
    json.appendMember("alt", ifAny: alt)
  }

  /// The payload of a message of the kind `file`.
  ///
  /// - Parameter isCaption: the body was written by a person, and is not made of the names.
  public static func payload(of attachments: [Attachment], isCaption: Bool) -> [UInt8] {
    .object { json in
      json.appendKey("attachments")
      json.append(UInt8(ascii: "["))
      for item in attachments {
        json.appendComma()
        json += [UInt8].object { item.appendMembers(to: &$0) }
      }
      json.append(UInt8(ascii: "]"))
      json.appendMember("caption", isCaption)
    }
  }

  /// The body of a message without a caption, so that lists, push messages, searches, transcripts
  /// and older clients have words.
  public static func body(of attachments: [Attachment]) -> String {
    "📎 " + attachments.map(\.name).joined(separator: ", ")
  }
}

// MARK: Statements

/// The uploader, and their conversation.
public struct Uploader: Sendable {
  public var workspace: Identifier
  public var session: Identifier
  public var id: Identifier
  public var isVisitor: Bool

  public init(workspace: Identifier, session: Identifier, id: Identifier, isVisitor: Bool) {
    self.workspace = workspace
    self.session = session
    self.id = id
    self.isVisitor = isVisitor
  }

  /// Whether the attachment is of this uploader. A conversation has one visitor, whose id changes
  /// when two visitors are merged.
  public func owns(_ item: Attachment) -> Bool {
    item.workspace == workspace && item.session == session && item.isOfVisitor == isVisitor
      && (isVisitor || item.uploader == id)
  }
}

extension Attachment {
  public enum Beginning: Sendable, Equatable {
    case begun(Attachment)
    /// The id was sent before.
    case known(Attachment)
    case noSuchSession
    /// The caller has too many attachments that are in no message.
    case callerIsFull
    /// Too many uploads of the workspace are running.
    case workspaceIsBusy
    /// The workspace has used its bytes.
    case workspaceIsFull
  }

  /// Registers an upload and reserves its bytes. The row of the totals is locked first, so that
  /// uploads that begin at once do not exceed them together.
  public static func begin(
    _ id: Identifier, name: String, bytes: Int64, alt: String?, by uploader: Uploader,
    totalMax: Int64
  ) -> Statement<Beginning?> {
    Statement(
      Query(
        beginSQL,
        [
          .uuid(uploader.workspace), .uuid(id), .uuid(uploader.session), .uuid(uploader.id),
          .bool(uploader.isVisitor), .text(name), .int(bytes), .text(alt),
          .int(AttachmentLimits.unsentPerCaller), .int(AttachmentLimits.runningPerWorkspace),
          .int(totalMax),
        ]
      ).after(
        Lock(
          """
          INSERT INTO chat_attachment_totals (workspace_id) VALUES ($1::uuid)
          ON CONFLICT (workspace_id) DO NOTHING
          """, [.uuid(uploader.workspace)]),
        Lock(
          "SELECT FROM chat_attachment_totals WHERE workspace_id = $1::uuid FOR UPDATE",
          [.uuid(uploader.workspace)]))
    ) { rows in
      guard !rows.isEmpty else { return nil }
      let found = Attachment(rows, 0, from: 1)
      return switch rows.text(0, 0) {
      case "new": found.map { .begun($0) }
      case "known": found.map { .known($0) }
      case "caller": .callerIsFull
      case "running": .workspaceIsBusy
      case "bytes": .workspaceIsFull
      default: .noSuchSession
      }
    }
  }

  private static let beginSQL: SQL = """
    WITH known AS (
      SELECT * FROM chat_attachments WHERE workspace_id = $1::uuid AND id = $2::uuid
    ), verdict AS (
      SELECT CASE
        WHEN NOT EXISTS (SELECT FROM chat_sessions WHERE id = $3::uuid
          AND workspace_id = $1::uuid AND deleted_at IS NULL) THEN 'session'
        WHEN EXISTS (SELECT FROM known) THEN 'known'
        WHEN (SELECT count(*) FROM chat_attachments WHERE workspace_id = $1::uuid
          AND uploader_id = $4::uuid AND state IN ('uploading', 'stored')) >= $9::bigint
          THEN 'caller'
        WHEN t.running >= $10::bigint THEN 'running'
        WHEN t.bytes + $7::bigint > $11::bigint THEN 'bytes'
        ELSE 'new' END AS name
      FROM chat_attachment_totals t WHERE t.workspace_id = $1::uuid
    ), added AS (
      INSERT INTO chat_attachments
        (workspace_id, id, session_id, uploader_id, is_of_visitor, name, bytes, alt)
      SELECT $1::uuid, $2::uuid, $3::uuid, $4::uuid, $5::boolean, $6::text, $7::bigint, $8::text
      FROM verdict WHERE verdict.name = 'new'
      RETURNING *
    )
    SELECT v.name, \(columns) FROM verdict v
    LEFT JOIN (SELECT * FROM known UNION ALL SELECT * FROM added) AS a ON true
    """

  public static func find(_ id: Identifier, in workspace: Identifier) -> Statement<Attachment?> {
    Statement(
      Query(
        "SELECT \(columns) FROM chat_attachments a WHERE workspace_id = $1::uuid AND id = $2::uuid",
        [.uuid(workspace), .uuid(id)])
    ) { $0.isEmpty ? nil : Attachment($0, 0) }
  }

  /// Those that can be downloaded, of a conversation that is not deleted.
  public static func shown(
    _ ids: [Identifier], in workspace: Identifier, session: Identifier? = nil
  ) -> Statement<[Attachment]> {
    Statement(
      Query(
        """
        SELECT \(columns) FROM chat_attachments a
        JOIN chat_sessions s ON s.id = a.session_id AND s.workspace_id = a.workspace_id
        WHERE a.workspace_id = $1::uuid AND a.id = ANY ($2::uuid[])
          AND a.state IN ('stored', 'bound') AND s.deleted_at IS NULL
          AND ($3::uuid IS NULL OR a.session_id = $3::uuid)
        """, [.uuid(workspace), .uuids(ids), .uuid(session)])
    ) { all($0) }
  }

  /// Its bytes are safe; nil if it was cancelled in the meantime.
  public static func complete(
    _ key: AttachmentKey, as content: StoredContent
  ) -> Statement<Attachment?> {
    Statement(
      Query(
        """
        UPDATE chat_attachments a SET state = 'stored', stored_at = now(), type = $3::text,
          bytes = $4::bigint, width = $5::bigint, height = $6::bigint,
          has_thumbnail = $7::boolean
        WHERE workspace_id = $1::uuid AND id = $2::uuid AND state = 'uploading'
        RETURNING \(columns)
        """,
        [
          .uuid(key.workspace), .uuid(key.id), .text(content.type), .int(content.byteCount),
          content.width.map { .int($0) } ?? .null, content.height.map { .int($0) } ?? .null,
          .bool(content.hasThumbnail),
        ])
    ) { $0.isEmpty ? nil : Attachment($0, 0) }
  }

  /// Removes one that is in no message. Returns whether it is removed.
  public static func cancel(_ key: AttachmentKey) -> Statement<Bool> {
    Statement(
      Query(
        """
        UPDATE chat_attachments SET state = 'removed', removed_at = now()
        WHERE workspace_id = $1::uuid AND id = $2::uuid AND state IN ('uploading', 'stored')
        RETURNING true
        """, [.uuid(key.workspace), .uuid(key.id)])
    ) { !$0.isEmpty }
  }

  /// Gives stored attachments to a message: all of them, or none.
  ///
  /// - Returns: those that the message may have, in the order of `ids`, and which of them it had
  ///   not before.
  public static func bind(
    _ ids: [Identifier], to message: Identifier, by uploader: Uploader
  ) -> Statement<(found: [Attachment], new: [Identifier])> {
    Statement(
      Query(
        bindSQL,
        [
          .uuid(uploader.workspace), .uuid(uploader.session), .uuid(uploader.id),
          .bool(uploader.isVisitor), .uuids(ids), .uuid(message),
        ])
    ) { rows in
      let new = (0..<rows.count).compactMap { row in
        rows.bool(row, 14) == true ? rows.uuid(row, 1) : nil
      }
      return (all(rows), new)
    }
  }

  private static let bindSQL: SQL = """
    WITH found AS MATERIALIZED (
      SELECT a.*, a.state = 'stored' AS is_new, w.place
      FROM unnest($5::uuid[]) WITH ORDINALITY AS w (id, place)
      JOIN chat_attachments a ON a.workspace_id = $1::uuid AND a.id = w.id
      WHERE a.session_id = $2::uuid AND a.is_of_visitor = $4::boolean
        AND ($4::boolean OR a.uploader_id = $3::uuid)
        AND (a.state = 'stored' OR a.state = 'bound' AND a.message_id = $6::uuid)
      FOR UPDATE OF a
    ), bound AS (
      UPDATE chat_attachments a SET state = 'bound', message_id = $6::uuid, bound_at = now()
      FROM found f WHERE a.workspace_id = $1::uuid AND a.id = f.id AND f.is_new
        AND (SELECT count(*) FROM found) = cardinality($5::uuid[])
    )
    SELECT \(columns), a.is_new FROM found a ORDER BY a.place
    """

  /// Gives attachments of a message, or of none, to another conversation of the same visitor: the
  /// one for which they were uploaded was closed meanwhile.
  public static func move(
    _ ids: [Identifier], of message: Identifier, to session: Identifier, in workspace: Identifier
  ) -> Statement<Void> {
    Statement(
      Query(
        """
        UPDATE chat_attachments SET session_id = $4::uuid
        WHERE workspace_id = $1::uuid AND id = ANY ($2::uuid[]) AND session_id <> $4::uuid
          AND (state = 'stored' OR state = 'bound' AND message_id = $3::uuid)
        """, [.uuid(workspace), .uuids(ids), .uuid(message), .uuid(session)]))
  }

  /// The message was refused for good.
  public static func release(
    _ ids: [Identifier], of message: Identifier, in workspace: Identifier
  ) -> Statement<Void> {
    Statement(
      Query(
        """
        UPDATE chat_attachments SET state = 'stored', message_id = NULL, bound_at = NULL
        WHERE workspace_id = $1::uuid AND id = ANY ($2::uuid[]) AND message_id = $3::uuid
          AND state = 'bound'
        """, [.uuid(workspace), .uuids(ids), .uuid(message)]))
  }

  /// Bytes of a workspace's attachments, and its running uploads.
  public static func usage(of workspace: Identifier) -> Statement<(bytes: Int64, running: Int64)> {
    Statement(
      Query(
        """
        SELECT bytes, running FROM chat_attachment_totals WHERE workspace_id = $1::uuid
        """, [.uuid(workspace)])
    ) { $0.isEmpty ? (0, 0) : ($0.int(0, 0) ?? 0, $0.int(0, 1) ?? 0) }
  }
}

/// The result of the last step of an upload: the stored content.
public struct StoredContent: Sendable, Equatable {
  public var type: String
  public var byteCount: Int64
  public var width: Int64?
  public var height: Int64?
  public var hasThumbnail: Bool
}
