/// The schemas of the OpenAPI document, by their names in the table of routes: what a body holds.
/// They are narrower than the handlers where JSON Schema has no words for it: it counts characters
/// where the handlers count bytes of UTF-8.
extension API {
  static let schemas: [String: String] = [
    "Id": #"""
    {"type": "string", "format": "uuid"}
    """#,
    "Name": #"""
    {"type": "string", "minLength": 1, "maxLength": 40, "pattern": "^[a-z][a-z0-9_-]*$",
    "description": "A name, percent-encoded; examples hold to small letters."}
    """#,
    "Problem": #"""
    {"type": "object", "properties": {"type": {"type": "string"},
    "title": {"type": "string"}, "status": {"type": "integer"},
    "detail": {"type": "string"}}, "required": ["type", "title", "status", "detail"]}
    """#,
    "Document": #"""
    {"type": "object"}
    """#,
    "query_cursor": #"""
    {"type": "string", "maxLength": 1024,
    "description": "What `next_cursor` of the page before says."}
    """#,
    "query_limit": #"""
    {"type": "integer", "minimum": 1, "maximum": 100}
    """#,
    "query_status": #"""
    {"type": "string", "enum": ["waiting", "active", "closed", "open", "all"]}
    """#,
    "query_assignee": #"""
    {"type": "string", "description": "me, none, or an operator's id"}
    """#,
    "query_after": #"""
    {"type": "integer", "minimum": 0, "maximum": 9007199254740991}
    """#,
    "query_before": #"""
    {"type": "integer", "minimum": 0, "maximum": 9007199254740991}
    """#,
    "query_around": #"""
    {"type": "integer", "minimum": 0, "maximum": 9007199254740991}
    """#,
    "query_q": #"""
    {"type": "string", "minLength": 1, "maxLength": 50}
    """#,
    "query_tag": #"""
    {"type": "string", "maxLength": 50}
    """#,
    "query_visitor": #"""
    {"type": "string", "format": "uuid"}
    """#,
    "QuickReply": #"""
    {"type": "object", "properties": {"label": {"type": "string", "minLength": 1,
    "maxLength": 50}, "value": {"type": "string", "minLength": 1, "maxLength": 200}},
    "required": ["label", "value"]}
    """#,
    "Button": #"""
    {"type": "object", "properties": {"label": {"type": "string", "minLength": 1,
    "maxLength": 50}, "type": {"type": "string", "enum": ["reply", "url"]},
    "value": {"type": "string", "pattern": "^https?://[!-~]{1,200}$"}}, "required": ["label",
    "value"],
    "description": "The value of a `url` is one; that of a `reply` may be any text."}
    """#,
    "Card": #"""
    {"type": "object", "properties": {"title": {"type": "string", "minLength": 1,
    "maxLength": 50}, "text": {"type": ["string", "null"], "maxLength": 1000},
    "image_url": {"type": ["string", "null"], "pattern": "^https?://[!-~]{1,200}$"},
    "buttons": {"type": ["array", "null"], "maxItems": 6,
    "items": {"$ref": "#/components/schemas/Button"}}}, "required": ["title"]}
    """#,
    "NewMessage": #"""
    {"type": "object", "properties": {"id": {"type": ["string", "null"], "format": "uuid"},
    "body": {"type": "string", "minLength": 1, "maxLength": 4000},
    "kind": {"type": ["string", "null"], "enum": ["text", "note", null]},
    "payload": {"type": ["object", "null"]}}, "required": ["body"]}
    """#,
    "NewNote": #"""
    {"type": "object", "properties": {"id": {"type": ["string", "null"], "format": "uuid"},
    "body": {"type": "string", "minLength": 1, "maxLength": 4000}}, "required": ["body"]}
    """#,
    "ConversationTags": #"""
    {"type": "object", "properties": {"tags": {"type": "array", "maxItems": 20,
    "items": {"type": "string", "minLength": 1, "maxLength": 50,
    "pattern": "^[^\\u0000-\\u0020/\\\\\\u007f]+$"}}}, "required": ["tags"]}
    """#,
    "ReadMark": #"""
    {"type": "object", "properties": {"seq": {"type": "integer", "minimum": 0,
    "maximum": 9007199254740991}}, "required": ["seq"]}
    """#,
    "SettingsPatch": #"""
    {"type": "object", "properties": {"settings": {"type": ["object", "null"],
    "properties": {"widget": {"type": ["object", "null"]}, "hours": {"type": ["object",
    "null"]}, "greeting_message": {"$ref": "#/components/schemas/BotMessage"},
    "away_message": {"$ref": "#/components/schemas/BotMessage"},
    "prechat": {"type": ["object", "null"]},
    "offline": {"$ref": "#/components/schemas/BotMessage"}, "queue": {"type": ["object",
    "null"], "properties": {"capacity": {"type": ["integer", "null"], "minimum": 1,
    "maximum": 1000}, "assign": {"type": ["string", "null"], "enum": ["off", "least_busy",
    null]}, "reassign_after_seconds": {"type": ["integer", "null"], "minimum": 0,
    "maximum": 86400}, "show_position": {"type": ["boolean", "null"]}},
    "additionalProperties": false}, "rating": {"type": ["object", "null"],
    "properties": {"enabled": {"type": ["boolean", "null"]}, "question": {"type": ["string",
    "null"], "maxLength": 1000}}, "additionalProperties": false}},
    "additionalProperties": false}, "allowed_origins": {"type": ["array", "null"],
    "maxItems": 64, "items": {"type": "string",
    "pattern": "^https://[a-z]{1,20}\\.example$"},
    "description": "Origins as https://www.example.com."}}}
    """#,
    "BotMessage": #"""
    {"type": ["object", "null"], "properties": {"enabled": {"type": ["boolean", "null"]},
    "text": {"type": ["string", "null"], "maxLength": 1000}}, "additionalProperties": false}
    """#,
    "NewMember": #"""
    {"type": "object", "properties": {"email": {"type": "string",
    "pattern": "^[a-z0-9.]{1,40}@[a-z0-9]{1,40}\\.example$",
    "description": "An e-mail address."}, "name": {"type": "string", "minLength": 1,
    "maxLength": 50}, "role": {"type": ["string", "null"], "enum": ["owner", "admin",
    "agent", null]}, "password": {"type": "string", "minLength": 8, "maxLength": 100}},
    "required": ["email", "name", "password"]}
    """#,
    "MemberPatch": #"""
    {"type": "object", "properties": {"name": {"type": ["string", "null"], "maxLength": 50,
    "minLength": 1}, "role": {"type": ["string", "null"], "enum": ["owner", "admin", "agent",
    null]}, "disabled": {"type": ["boolean", "null"]}, "password": {"type": ["string",
    "null"], "maxLength": 100, "minLength": 8}}}
    """#,
    "TagChange": #"""
    {"type": "object", "properties": {"colour": {"type": ["string", "null"],
    "pattern": "^#[0-9a-f]{6}$"}}}
    """#,
    "ReplyObjectChange": #"""
    {"oneOf": [{"type": "object", "properties": {"object_type": {"type": "string",
    "enum": ["text"]}, "payload": {"type": "object",
    "properties": {"text": {"type": "string", "minLength": 1, "maxLength": 1000},
    "quick_replies": {"type": "array", "maxItems": 12,
    "items": {"$ref": "#/components/schemas/QuickReply"}}}, "required": ["text"]},
    "alt_text": {"type": ["string", "null"], "maxLength": 1000},
    "shortcut": {"type": ["string", "null"], "pattern": "^[a-z0-9]{1,32}$"}},
    "required": ["object_type", "payload"]}, {"type": "object",
    "properties": {"object_type": {"type": "string", "enum": ["buttons"]},
    "payload": {"type": "object", "properties": {"text": {"type": "string", "minLength": 1,
    "maxLength": 1000}, "buttons": {"type": "array", "minItems": 1, "maxItems": 6,
    "items": {"$ref": "#/components/schemas/Button"}}}, "required": ["text", "buttons"]},
    "alt_text": {"type": ["string", "null"], "maxLength": 1000},
    "shortcut": {"type": ["string", "null"], "pattern": "^[a-z0-9]{1,32}$"}},
    "required": ["object_type", "payload"]}, {"type": "object",
    "properties": {"object_type": {"type": "string", "enum": ["card"]},
    "payload": {"$ref": "#/components/schemas/Card"}, "alt_text": {"type": ["string",
    "null"], "maxLength": 1000}, "shortcut": {"type": ["string", "null"],
    "pattern": "^[a-z0-9]{1,32}$"}}, "required": ["object_type", "payload"]},
    {"type": "object", "properties": {"object_type": {"type": "string",
    "enum": ["carousel"]}, "payload": {"type": "object",
    "properties": {"cards": {"type": "array", "minItems": 1, "maxItems": 5,
    "items": {"$ref": "#/components/schemas/Card"}}}, "required": ["cards"]},
    "alt_text": {"type": ["string", "null"], "maxLength": 1000},
    "shortcut": {"type": ["string", "null"], "pattern": "^[a-z0-9]{1,32}$"}},
    "required": ["object_type", "payload"]}]}
    """#,
    "Credentials": #"""
    {"type": "object", "properties": {"email": {"type": "string", "maxLength": 80},
    "password": {"type": "string", "maxLength": 200}, "workspace": {"type": ["string",
    "null"], "maxLength": 50}}, "required": ["email", "password"]}
    """#,
    "PasswordChange": #"""
    {"type": "object", "properties": {"current": {"type": "string", "minLength": 1,
    "maxLength": 100}, "new": {"type": "string", "minLength": 8, "maxLength": 100}},
    "required": ["current", "new"]}
    """#,
    "NewIntent": #"""
    {"type": "object", "properties": {"name": {"type": "string", "minLength": 1,
    "maxLength": 50, "pattern": "^[^\\u0000-\\u001f/\\\\\\u007f]+$"},
    "keyword": {"type": "string", "minLength": 1, "maxLength": 100,
    "pattern": "^[^\\u0000()\\[\\]{}*+?|\\\\^$.]+$"}, "match_kind": {"type": ["string",
    "null"], "enum": ["exact", "contains", "starts_with", "regex", null]},
    "replies": {"type": ["array", "null"], "maxItems": 10,
    "items": {"oneOf": [{"type": "object", "properties": {"text": {"type": "string",
    "minLength": 1, "maxLength": 1000}}, "required": ["text"],
    "additionalProperties": false}, {"type": "object",
    "properties": {"object": {"type": "string", "minLength": 1, "maxLength": 50}},
    "required": ["object"], "additionalProperties": false}]}},
    "position": {"type": ["integer", "null"], "minimum": 0, "maximum": 1000000},
    "is_enabled": {"type": ["boolean", "null"]}}, "required": ["name", "keyword"]}
    """#,
    "IntentChange": #"""
    {"type": "object", "properties": {"keyword": {"type": ["string", "null"], "minLength": 1,
    "maxLength": 100, "pattern": "^[^\\u0000()\\[\\]{}*+?|\\\\^$.]+$"},
    "match_kind": {"type": ["string", "null"], "enum": ["exact", "contains", "starts_with",
    "regex", null]}, "replies": {"type": ["array", "null"], "maxItems": 10,
    "items": {"oneOf": [{"type": "object", "properties": {"text": {"type": "string",
    "minLength": 1, "maxLength": 1000}}, "required": ["text"],
    "additionalProperties": false}, {"type": "object",
    "properties": {"object": {"type": "string", "minLength": 1, "maxLength": 50}},
    "required": ["object"], "additionalProperties": false}]}},
    "position": {"type": ["integer", "null"], "minimum": 0, "maximum": 1000000},
    "is_enabled": {"type": ["boolean", "null"]}}}
    """#,
    "NewMenu": #"""
    {"type": "object", "properties": {"name": {"type": "string", "minLength": 1,
    "maxLength": 25}, "actions": {"type": ["array", "null"], "maxItems": 12,
    "items": {"oneOf": [{"type": "object", "properties": {"label": {"type": "string",
    "minLength": 1, "maxLength": 50}, "type": {"type": "string", "enum": ["message"]},
    "value": {"type": "string", "minLength": 1, "maxLength": 200}}, "required": ["label",
    "type", "value"]}, {"type": "object", "properties": {"label": {"type": "string",
    "minLength": 1, "maxLength": 50}, "type": {"type": "string", "enum": ["url"]},
    "value": {"type": "string", "pattern": "^https?://[!-~]{1,200}$"}}, "required": ["label",
    "type", "value"]}, {"type": "object", "properties": {"label": {"type": "string",
    "minLength": 1, "maxLength": 50}, "type": {"type": "string", "enum": ["operator"]},
    "value": {"type": ["string", "null"], "maxLength": 200}}, "required": ["label",
    "type"]}]}}, "status": {"type": ["string", "null"], "enum": ["draft", "published",
    "inactive", null]}}, "required": ["name"]}
    """#,
    "MenuPatch": #"""
    {"type": "object", "properties": {"name": {"type": ["string", "null"], "maxLength": 25,
    "minLength": 1}, "actions": {"type": ["array", "null"], "maxItems": 12,
    "items": {"oneOf": [{"type": "object", "properties": {"label": {"type": "string",
    "minLength": 1, "maxLength": 50}, "type": {"type": "string", "enum": ["message"]},
    "value": {"type": "string", "minLength": 1, "maxLength": 200}}, "required": ["label",
    "type", "value"]}, {"type": "object", "properties": {"label": {"type": "string",
    "minLength": 1, "maxLength": 50}, "type": {"type": "string", "enum": ["url"]},
    "value": {"type": "string", "pattern": "^https?://[!-~]{1,200}$"}}, "required": ["label",
    "type", "value"]}, {"type": "object", "properties": {"label": {"type": "string",
    "minLength": 1, "maxLength": 50}, "type": {"type": "string", "enum": ["operator"]},
    "value": {"type": ["string", "null"], "maxLength": 200}}, "required": ["label",
    "type"]}]}}, "status": {"type": ["string", "null"], "enum": ["draft", "published",
    "inactive", null]}}}
    """#,
    "CredentialChange": #"""
    {"type": "object", "properties": {"name": {"type": ["string", "null"], "maxLength": 50,
    "minLength": 1, "pattern": "^[^\\u0000-\\u001f\\u007f]+$"}, "secret": {"type": "string",
    "minLength": 1, "maxLength": 1000}}, "required": ["secret"]}
    """#,
    "NewKey": #"""
    {"type": "object", "properties": {"name": {"type": "string", "minLength": 1,
    "maxLength": 25}, "scopes": {"type": "array", "maxItems": 12, "items": {"type": "string",
    "enum": ["conversations:read", "conversations:write", "settings:read", "settings:write",
    "members:read", "members:write", "visitors:read", "visitors:write", "analytics:read",
    "webhooks:read", "webhooks:write", "audit:read"]}}, "expires_at": {"type": ["string",
    "null"], "format": "date-time"}}, "required": ["name", "scopes"]}
    """#,
    "VisitorPatch": #"""
    {"type": "object", "properties": {"name": {"type": ["string", "null"], "maxLength": 50},
    "email": {"type": ["string", "null"], "maxLength": 80}}}
    """#,
    "VisitorTokenRequest": #"""
    {"type": "object", "properties": {"workspace": {"type": "string", "minLength": 1,
    "maxLength": 30}, "refresh": {"type": ["string", "null"], "maxLength": 30},
    "session": {"type": ["string", "null"], "format": "uuid"},
    "new_session": {"type": ["boolean", "null"]}, "context": {"type": ["object", "null"]},
    "identity": {"type": ["string", "null"], "maxLength": 1000},
    "attributes": {"type": ["object", "null"]}}, "required": ["workspace"]}
    """#,
    "VisitorProfile": #"""
    {"type": "object", "properties": {"name": {"type": ["string", "null"], "maxLength": 50},
    "email": {"type": ["string", "null"], "maxLength": 80}, "attributes": {"type": ["object",
    "null"]}}}
    """#,
    "OfflineMessage": #"""
    {"type": "object", "properties": {"workspace": {"type": "string", "minLength": 1,
    "maxLength": 30}, "name": {"type": ["string", "null"], "maxLength": 50},
    "email": {"type": "string", "minLength": 1, "maxLength": 80},
    "message": {"type": "string", "minLength": 1, "maxLength": 1000}},
    "required": ["workspace", "email", "message"]}
    """#,
    "Rating": #"""
    {"type": "object", "properties": {"rating": {"type": "integer", "minimum": 1,
    "maximum": 5}, "comment": {"type": ["string", "null"], "maxLength": 500}},
    "required": ["rating"]}
    """#,
    "NewWebhook": #"""
    {"type": "object", "properties": {
    "url": {"type": "string", "pattern": "^https://[!-~]{1,200}$"},
    "events": {"type": ["array", "null"], "items": {"type": "string"}}},
    "required": ["url"]}
    """#,
    "WebhookChange": #"""
    {"type": "object", "properties": {
    "url": {"type": ["string", "null"], "pattern": "^https://[!-~]{1,200}$"},
    "events": {"type": ["array", "null"], "items": {"type": "string"}},
    "is_enabled": {"type": ["boolean", "null"]}}}
    """#,
    "WebhookAnswer": #"""
    {"type": "object", "properties": {"webhook": {"type": "object"}}}
    """#,
    "DeliveryAnswer": #"""
    {"type": "object"}
    """#,
    "Webhooks": #"""
    {"type": "object", "properties": {"webhooks": {"type": "array"}}, "required": ["webhooks"]}
    """#,
    "Deliveries": #"""
    {"type": "object", "properties": {"deliveries": {"type": "array"}},
    "required": ["deliveries"]}
    """#,
  ]
}
