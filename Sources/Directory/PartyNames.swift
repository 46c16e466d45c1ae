import Postgres
public import Primitives

/// The names of visitors and operators, for lists that know their ids.
public enum PartyNames {
  public static func of(
    _ ids: [Identifier], in workspace: Identifier
  ) -> Statement<[Identifier?: String]> {
    Statement(
      Query(
        """
        SELECT v.id, v.name FROM visitors v
        WHERE v.workspace_id = $1::uuid AND v.id = ANY($2::uuid[])
        UNION ALL
        SELECT o.id, o.name FROM memberships m JOIN operators o ON o.id = m.operator_id
        WHERE m.workspace_id = $1::uuid AND m.operator_id = ANY($2::uuid[])
        """, [.uuid(workspace), .uuids(ids)])
    ) { rows in
      var names: [Identifier?: String] = [:]
      for row in 0..<rows.count {
        if let id = rows.uuid(row, 0) { names[id] = rows.text(row, 1) }
      }
      return names
    }
  }
}
