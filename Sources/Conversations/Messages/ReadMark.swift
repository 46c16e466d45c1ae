/// The last message of a conversation that an operator has read.
public import Directory
import Postgres
public import Primitives

public enum ReadMark {
  /// Moves the mark forward to `seq`, at most to the last message. Returns the mark; nil if the
  /// workspace has no such conversation.
  public static func advance(
    to seq: Int64, of member: Identifier, name: String, in session: Identifier,
    workspace: Identifier
  ) -> Statement<Int64?> {
    Statement(
      Query(
        """
        INSERT INTO read_marks AS m
          (workspace_id, session_id, person_id, role, name, read_seq, delivered_seq)
        SELECT s.workspace_id, s.id, $3::uuid, 'operator', $4::text,
          least($5::bigint, s.last_seq), least($5::bigint, s.last_seq)
        FROM chat_sessions s
        WHERE s.id = $2::uuid AND s.workspace_id = $1::uuid AND s.deleted_at IS NULL
        ON CONFLICT (workspace_id, session_id, person_id) DO UPDATE SET
          read_seq = greatest(m.read_seq, excluded.read_seq),
          delivered_seq = greatest(m.delivered_seq, excluded.delivered_seq), updated_at = now()
        RETURNING read_seq
        """,
        [.uuid(workspace), .uuid(session), .uuid(member), .text(name), .int(seq)])
    ) { $0.isEmpty ? nil : $0.int(0, 0) }
  }
}
