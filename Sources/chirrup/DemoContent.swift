/// The content of a new demo workspace: a second operator, conversations in several states and
/// languages, canned replies, rules and a menu. The second operator has no password and is never
/// there: the console shows them as offline.
import Postgres
import Primitives

enum DemoContent {
  private static let colleague = DemoData.Colleague(
    name: "Noor", share: 1, slowness: 0.8, harshness: 0.6)
  private static let conversations = 40
  /// One waits, and three are the owner's.
  private static let open = 4

  /// - Parameter connection: of the tables' owner.
  static func create(in workspace: Identifier, _ connection: BlockingConnection) throws {
    try GeneratedConversations(
      workspace: workspace, count: conversations, open: open, seed: 7, teams: [],
      colleagues: [colleague]
    ).create(connection) { _ in }
    for statement in [replies, rules, menu] {
      try connection.run(Query(statement, [.uuid(workspace)]))
    }
  }

  private static let replies: StaticString = """
    INSERT INTO reply_objects
      (workspace_id, object_id, object_type, payload, alt_text, shortcut)
    SELECT $1::uuid, r.id, r.type, r.payload::jsonb, '', r.shortcut FROM (VALUES
      ('delivery-times', 'text', '{"text": "Parcels leave us the same day when you order before \
    14:00, and take one to two working days."}', 'delivery'),
      ('return-label', 'text', '{"text": "You can return it within 30 days, unworn. I have sent \
    the label to your email address."}', 'return'),
      ('workshop-hours', 'text', '{"text": "Bring the bike before ten, ride home at five. Which \
    day suits you?", "quick_replies": [{"label": "Today", "value": "Today, please."}, \
    {"label": "Tomorrow", "value": "Tomorrow, please."}]}', 'workshop'),
      ('brake-hose', 'card', '{"title": "Brake hose, 1,600 mm", "text": "Hydraulic, M8 fitting, \
    for long-tail frames. € 24.90", "buttons": [{"label": "Does it fit my bike?", "value": "Does \
    the hose fit my bike?"}]}', 'hose'),
      ('goodbye', 'text', '{"text": "You are welcome. Have a good ride."}', 'bye')
    ) AS r (id, type, payload, shortcut)
    """

  private static let rules: StaticString = """
    INSERT INTO intents (workspace_id, name, keyword, match_kind, replies, position)
    SELECT $1::uuid, r.name, r.keyword, r.kind, r.replies::jsonb, r.position FROM (VALUES
      ('Opening hours', 'opening hours', 'contains', '["The shop is open from Monday to Friday, \
    9 to 18, and on Saturday from 10 to 14."]', 1),
      ('Delivery times', 'how long does delivery', 'contains', '[{"object": "delivery-times"}]', 2),
      ('A person', 'talk to a person', 'contains', '[{"handover": true}]', 3)
    ) AS r (name, keyword, kind, replies, position)
    """

  private static let menu: StaticString = """
    INSERT INTO rich_menus (workspace_id, id, name, actions, status)
    VALUES ($1::uuid, gen_random_uuid(), 'Main menu', '[
      {"label": "Opening hours", "type": "message", "value": "opening hours"},
      {"label": "Delivery", "type": "message", "value": "How long does delivery take?"},
      {"label": "Talk to us", "type": "operator"}]', 'published')
    """
}
