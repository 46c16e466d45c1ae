/**
 * The objects of the REST API, as far as widget and console use them. openapi.json has all of it.
 * Times are RFC 3339 in UTC, dates YYYY-MM-DD in the workspace's time zone.
 */

// Settings of the workspace.

interface BotMessage {
  enabled: boolean;
  text: string;
}

interface Greeting {
  title: string;
  text: string;
}

/** A question of the form before a chat. `type` is `text`, `email` or `select`. */
interface PrechatField {
  key: string;
  label: string;
  type: string;
  required?: boolean;
  options?: string[];
}

interface PrechatForm {
  enabled: boolean;
  fields: PrechatField[];
}

interface RatingSettings {
  enabled: boolean;
  question: string | null;
}

interface WidgetSettings {
  name: string | null;
  accent: string | null;
  locale: string;
  theme: string;
  position: string;
  greeting: Greeting | null;
  preview: boolean;
  sound: boolean;
  teaser: boolean;
}

/** One opening: `day` 1 is Monday, times are HH:MM. It ends on the next day if `to` is earlier. */
interface Opening {
  day: number;
  from: string;
  to: string;
}

interface Hours {
  always: boolean;
  time_zone: string;
  days: Opening[];
  holidays: string[];
}

interface QueueSettings {
  capacity: number;
  /** `off` or `least_busy` */
  assign: string;
  reassign_after_seconds: number;
  /** The rest after which a conversation is closed; 0: never. */
  close_after_minutes: number;
  /** Targets; 0: none. */
  first_response_minutes: number;
  resolution_minutes: number;
  show_position: boolean;
}

interface RetentionSettings {
  /** The days after which a deleted conversation is erased. */
  deleted_days: number;
}

interface SecuritySettings {
  /** Members without a second factor set one up at their next login. */
  require_second_factor: boolean;
}

interface RoutingRule {
  /** The beginning of the page's path; empty: any. */
  page: string;
  /** A language tag; empty: any. */
  language: string;
  team: string;
}

interface WatchingSettings {
  /** Operators see who is on the site, and pages show proactive messages. */
  enabled: boolean;
}

interface MailSettings {
  /** Answers that a visitor has not read are sent to their address. */
  answers: boolean;
  answers_after_seconds: number;
  /** Empty: the widget's name, or the workspace's. */
  sender_name: string;
  /** Empty: the gateway's. */
  sender_address: string;
  reply_to: string;
  /** Gets the messages of the offline form. */
  offline_to: string;
  alert_to: string;
  alert_after_seconds: number;
  transcripts: boolean;
}

/** A message in the outbox, with its address in short. */
interface MailMessage {
  id: string;
  kind: 'answers' | 'offline' | 'transcript' | 'invitation' | 'password_reset' | 'alert' | 'test';
  recipient: string;
  state: 'pending' | 'sent' | 'failed' | 'stopped';
  /** What the mail server said about the last attempt that failed. */
  reason: string;
  attempts: number;
  created_at: string;
  ended_at: string | null;
}

interface WorkspaceSettings {
  widget: WidgetSettings;
  hours: Hours;
  greeting_message: BotMessage;
  away_message: BotMessage;
  prechat: PrechatForm;
  offline: BotMessage;
  queue: QueueSettings;
  rating: RatingSettings;
  retention: RetentionSettings;
  security: SecuritySettings;
  routing: { rules: RoutingRule[] };
  watching: WatchingSettings;
  /** Missing: an older gateway. */
  attachments?: AttachmentSettings;
  mail: MailSettings;
}

interface SettingsAnswer {
  settings: WorkspaceSettings;
  /** null: the gateway's settings decide. */
  allowed_origins: string[] | null;
  public_key: string;
  workspace: Named;
  /** Missing: an older gateway. */
  limits?: VisibleLimit[];
}

interface VisibleLimit {
  name: string;
  /** null: no limit. */
  amount: number | null;
  /** null: at the same time. */
  seconds: number | null;
}

interface SettingsChange {
  settings: Partial<WorkspaceSettings>;
  allowed_origins?: string[] | null;
}

/** What may be attached. `types` are names of groups. */
interface FileLimits {
  enabled: boolean;
  bytes_max: number;
  types: string[];
}

interface AttachmentSettings extends FileLimits {
  /** Of all files of the workspace. */
  total_bytes: number;
}

/** An upload: how far it is, and the file when it is `stored`. */
interface AttachmentState extends AttachmentFile {
  /** `uploading` or `stored` */
  state: string;
  received: number;
  part_bytes: number;
}

/** `GET /api/v1/widget/config` */
interface WidgetConfig {
  workspace: { name: string };
  greeting: Greeting | null;
  accent: string | null;
  locale: string;
  theme: string;
  position: string;
  preview: boolean;
  sound: boolean;
  teaser: boolean;
  hours: { is_open: boolean; opens_at: string | null };
  operators_available: boolean;
  prechat: PrechatForm;
  offline: BotMessage;
  menu: { id: string; actions: Choice[] } | null;
  rating: RatingSettings;
  queue: { show_position: boolean; close_after_minutes: number };
  /** Missing: an older gateway. */
  attachments?: FileLimits;
}

// Conversations and visitors.

interface VisitorProfile extends Named {
  email: string | null;
  external_id: string | null;
  /** Whether the site's own server has signed the external id. */
  is_identified: boolean;
  attributes: Record<string, unknown>;
  banned_at: string | null;
  created_at: string;
  last_seen_at: string | null;
  conversations: number;
}

/** What a merge of two visitors would do; `other` is null if they are merged already. */
interface MergePreview {
  visitor: VisitorProfile;
  other: VisitorProfile | null;
  attributes: Record<string, unknown>;
}

/** The context of a visit. The visitor's browser sends it, so each value is checked before use. */
interface VisitContext {
  page?: unknown;
  /** The first page, if it is another one. */
  opened_on?: unknown;
  title?: unknown;
  referrer?: unknown;
  country?: unknown;
  locale?: unknown;
  timezone?: unknown;
  user_agent?: unknown;
}

/** What of a conversation was sent by e-mail, the newest first, and what will be. */
interface ConversationMail {
  /** To whom unread answers are sent, in short; null: to nobody. */
  recipient: string | null;
  after_seconds: number | null;
  /** The owner of the address has ended e-mails. */
  stopped: boolean;
  messages: {
    first_seq: number; last_seq: number; state: MailMessage['state']; reason: string;
    recipient: string; at: string;
  }[];
  /** What came by e-mail, by the first message that it became. */
  replies: {
    message_id: string; author: string; is_verified: boolean; verdict: string; at: string;
  }[];
}

/** A row of the list; `inbox` frames carry the same. */
/** What became of the messages that were to be sent on a channel, the oldest first. */
interface ChannelDeliveries {
  channel: string;
  is_blocked: boolean;
  /** Why the last attempt failed, if a message waits. */
  problem: string | null;
  deliveries: {
    message: string;
    seq: number;
    status: 'sent' | 'failed' | 'unknown' | 'pending';
    reason: string | null;
  }[];
}

interface ConversationRow {
  id: string;
  title?: string;
  /** `waiting`, `active` or `closed` */
  status: string;
  /** `web`, or the name of a channel. Missing: an older gateway. */
  channel?: string;
  visitor: Named | null;
  assignee: Named | null;
  /** Whose members take it. Missing: an older gateway. */
  team?: Named | null;
  last_seq: number;
  /** `operator`: who wrote it, if another than the assignee. */
  last_message: { preview: string; role: string; at: string; operator?: Named } | null;
  /** The highest seq that any operator has read. */
  read_seq: number;
  visitor_read_seq: number;
  /** The visitor's unread messages. Missing: an older gateway. */
  unread?: number;
  created_at: string;
  updated_at: string;
  waiting_since: string | null;
  /** When the next target is due. Null: none runs. Missing: an older gateway. */
  due_at?: string | null;
  /** `first_response`, `resolution` */
  missed?: string[];
  closed_at?: string | null;
  context?: VisitContext;
  tags?: string[];
  rating?: number | null;
  /** The beginning of the comment. */
  rating_comment?: string | null;
}

/** One conversation, with all that is known about its visitor. */
interface ConversationDetail extends ConversationRow {
  visitor: VisitorProfile | null;
  /** The oldest page first. Missing: an older gateway. */
  trail?: { page: string; title: string; at: string }[];
}

interface Team {
  id: string;
  name: string;
  /** `off`, `least_busy` or `round_robin`; null: as the workspace */
  assign: string | null;
  capacity: number | null;
  overflow_after_minutes: number | null;
  /** Targets; 0: none, null: as the workspace. */
  first_response_minutes: number | null;
  resolution_minutes: number | null;
  languages: string[];
  hours: Hours | null;
  members: Named[];
  /** Whether a member is there and takes conversations. */
  available: boolean;
  waiting: number;
}

interface DeletedConversation {
  id: string;
  title: string;
  status: string;
  visitor_id: string | null;
  visitor_name: string | null;
  messages: number;
  last_message: string | null;
  created_at: string;
  deleted_at: string;
  /** `operator`, `api_key` or `command`; null: another application */
  deleted_via: string | null;
  deleted_by: string | null;
  /** null: never */
  erased_at: string | null;
}

interface DeletedPage {
  conversations: DeletedConversation[];
  next_cursor: string | null;
}

interface FriendEvent {
  id: string;
  /** `follow`, `unfollow`, `block`, `unblock` or `refollow` */
  event: string;
  channel: string;
  created_at: string;
}

interface ConversationPage {
  conversations: ConversationRow[];
  waiting_count: number;
  active_count: number;
  mine_count: number;
  closed_count: number;
  next_cursor: string | null;
}

interface MessagePage {
  messages: Entry[];
  more: boolean;
  head: number;
}

/** A hit of the search in messages. */
interface Hit {
  session: string;
  seq: number;
  at: string;
  sender: Sender;
  snippet: string;
  conversation: { id: string; title: string; status: string };
}

interface HitPage {
  hits: Hit[];
  next_cursor: string | null;
}

// The workspace and its people.

/** The session of an operator, with a token for the socket. */
interface Login {
  operator: { id: string; name: string; email: string; role: string };
  workspace: { id: string; name: string; public_key: string };
  token: string;
  expires_at: string;
  must_change_password: boolean;
  must_add_second_factor: boolean;
}

/** The first step of a login to an account with a second factor. */
interface LoginChallenge {
  challenge: string;
  /** the second steps that the account has */
  methods: ('code' | 'passkey' | 'recovery_code')[];
}

/** The answer of an identity provider, as it stands in the address of the console. */
interface ProviderAnswer {
  state: string;
  code?: string;
  iss?: string;
  error?: string;
}

interface GroupRole {
  group: string;
  role: string;
}

type AssistUse = 'suggest' | 'summary' | 'translate';

/** The endpoint that writes drafts, without its key. */
interface Assist {
  enabled: boolean;
  uses: AssistUse[];
  endpoint: string;
  model: string;
  has_key: boolean;
  token_limit: 'max_tokens' | 'max_completion_tokens';
  tokens_per_day: number;
  tokens_per_month: number;
  timeout_seconds: number;
  automatic: 'off' | 'replies' | 'conversations';
  automatic_notice: string;
}

interface Channel {
  name: string;
  webhook_path: string;
  /** Null: the gateway does not know its public URL. */
  webhook_url: string | null;
  signing_credential: string;
  sending_credential: string;
  /** Whether these are stored. */
  receives: boolean;
  sends: boolean;
  capabilities: { typing: boolean; read_marks: boolean };
}

interface ChannelTrial {
  works: boolean;
  account: string | null;
  detail: string;
}

interface ChannelQuotaAnswer {
  /** Null: the platform could not be asked, or has no quota. */
  quota: { used: number; limit: number | null } | null;
  detail: string;
}

interface AssistTrial {
  works: boolean;
  detail: string;
  answer: string;
}

interface AssistAnswer {
  assist: Assist | null;
  tokens_today: number;
  tokens_this_month: number;
}

/** The identity provider of the workspace, without the secret. */
interface IdentityProvider {
  enabled: boolean;
  label: string;
  issuer: string;
  client_id: string;
  scopes: string[];
  groups_claim: string;
  group_roles: GroupRole[];
  default_role: string | null;
  create_members: boolean;
  take_roles_back: boolean;
  password_login: boolean;
  trust_second_factor: boolean;
  required_acr: string | null;
  required_amr: string | null;
}

interface IdentityProviderAnswer {
  redirect_uri: string | null;
  identity_provider: IdentityProvider | null;
}

/** For the browser's functions; the challenge is sent back with what they return. */
interface PasskeyOptions {
  challenge: string;
  public_key: object;
}

interface NewPasskey {
  id: string;
  /** of the account's first factor */
  recovery_codes?: string[];
}

interface Passkey {
  id: string;
  name: string;
  /** the host name on which browsers offer it */
  host: string;
  synced: boolean;
  created_at: string;
  last_used_at: string | null;
}

interface SecondFactor {
  /** whether a password alone is not enough */
  enabled: boolean;
  app: boolean;
  passkeys: Passkey[];
  recovery_codes_left: number;
  /** false for members who log in with single sign-on only */
  has_password: boolean;
  /** whether the workspace requires one */
  required: boolean;
}

interface Member extends Named {
  email: string;
  /** `agent`, `admin` or `owner` */
  role: string;
  disabled: boolean;
  online: boolean;
  available: boolean;
  /** Open conversations. */
  load: number;
  /** `none`, `given` (it must be changed at the next login) or `own` */
  password: string;
  second_factor: boolean;
}

interface Tag {
  name: string;
  colour: string | null;
}

/** A login of the operator's own account. */
interface LoginSession {
  id: string;
  /** whether it is the login of the request */
  current: boolean;
  /** browser and system in words; '' before this was stored */
  device: string;
  address: string;
  workspace: string;
  created_at: string;
  last_seen_at: string;
  expires_at: string;
}

interface ApiKey {
  id: string;
  name: string;
  scopes: string[];
  created_at: string;
  last_used_at: string | null;
  expires_at: string | null;
  revoked_at?: string | null;
}

interface IdentitySecret {
  id: string;
  created_at: string;
  ends_at: string | null;
}

interface StoredCredential {
  provider: string;
  name: string;
  updated_at: string;
}

/** A frame of a traced connection, without its text; or the begin or end of a connection. */
interface TraceLine {
  n: number;
  at: string;
  connection: string;
  kind: 'received' | 'sent' | 'opened' | 'ended';
  frame: 'text' | 'binary' | 'ping' | 'pong' | 'close' | null;
  bytes: number;
  deflated: boolean;
  type: string | null;
  session: string | null;
  seq: number | null;
  code: string | null;
  reason: string | null;
}

interface TraceAnswer {
  lines: TraceLine[];
  position: number;
  dropped: number;
  ended: string | null;
}

/** A WebSocket of the gateway that answers. Times of its end are null while it is open. */
interface ConnectionRow {
  id: string;
  name: string | null;
  visitor: string | null;
  operator: string | null;
  sessions: string[];
  session_count: number;
  address: string;
  gateway: string;
  loop: number;
  state: 'open' | 'slow' | 'ended';
  opened_at: string;
  ended_at: string | null;
  code: number | null;
  reason: string | null;
  closed_by: string | null;
  duration_ms: number;
  slow_ms: number | null;
  bytes_in: number;
  bytes_out: number;
  messages_in: number;
  messages_out: number;
}

interface AuditEntry {
  id: number;
  actor: string;
  actor_id: string | null;
  actor_name: string | null;
  action: string;
  details: Record<string, unknown>;
  created_at: string;
}

// Replies, intents and menus.

/** A canned reply. `object_type` is `text`, `buttons`, `card` or `carousel`. */
interface ReplyObject {
  object_id: string;
  object_type: string;
  payload: Payload;
  alt_text?: string | null;
  shortcut: string | null;
}

/** One answer of an intent: a text, or a reply object by its id. */
interface IntentReply {
  text?: string;
  object?: string;
  /** the bot then stops, and the conversation waits for an operator */
  handover?: boolean;
  /** the id or name of the team that gets it */
  team?: string;
}

interface Intent {
  name: string;
  keyword: string;
  /** `exact`, `contains`, `starts_with` or `regex` */
  match_kind: string;
  replies: IntentReply[];
  position: number;
  is_enabled: boolean;
}

interface RichMenu {
  id: string;
  name: string;
  actions: Choice[];
  /** The picture that LINE shows; empty: none. */
  image_url?: string;
  /** `draft`, `published` or `inactive` */
  status: string;
  /** `none`, `pending`, `synced` or `failed` */
  sync_status?: string;
  sync_error?: string | null;
}

// Webhooks.

interface Webhook {
  id: string;
  url: string;
  /** None: all of them. */
  events: string[];
  is_enabled: boolean;
  /** In the answer that made it only. */
  secret?: string;
}

interface Delivery {
  id: string;
  event: string;
  /** `pending`, `delivered` or `failed` */
  status: string;
  attempts: number;
  next_attempt_at: string | null;
  last_error: string | null;
  created_at: string;
}

// Analytics.

interface Period {
  from: string;
  to: string;
}

/**
 * Of a day, a group or the whole period: of the conversations that began in it. Without a sample a
 * time is null.
 */
interface Figures {
  sessions: number;
  /** Those of the conversations that were claimed, answered and closed. */
  claimed: number;
  answered: number;
  closed: number;
  messages: number;
  csat_count: number;
  /** Ratings with 1 to 5 stars. */
  csat_stars: number[];
  csat_mean?: number | null;
  wait_p50_ms?: number | null;
  wait_p90_ms?: number | null;
  first_response_p50_ms?: number | null;
  first_response_p90_ms?: number | null;
  resolution_p50_ms?: number | null;
  resolution_p90_ms?: number | null;
}

interface TargetCounts {
  first_response: number;
  resolution: number;
}

/** Targets that were due in the period. Missing: an older gateway. */
interface TargetFigures {
  missed_targets?: TargetCounts;
  due_targets?: TargetCounts;
}

type DayFigures = Figures & TargetFigures & { day: string };
/** Of an operator, a team, a channel or a tag; the last two have no id. */
type GroupFigures = Figures & TargetFigures & { id?: string; name: string; previous: Figures };

/** Every change until `counted_at` is in the figures. */
interface CountedPeriod extends Period {
  counted_at: string;
}

type GroupsAnswer<Name extends string> = CountedPeriod & Record<Name, GroupFigures[]>;

interface Analytics extends CountedPeriod, TargetFigures {
  time_zone: string;
  days: DayFigures[];
  total: Figures;
  /** Of the period of the same length before. */
  previous: Figures;
  /** Rows are weekdays from Monday on, columns hours. */
  by_hour: number[][];
}

interface ListedRating {
  /** Null: the conversation was deleted. */
  session: string | null;
  rating: number;
  comment: string | null;
  visitor: string | null;
  operator: string | null;
  team: string | null;
  tags: string[];
  day: string;
  at: string;
}

interface RatingPage {
  ratings: ListedRating[];
  next_cursor: string | null;
}

// Requests of the console's pages.

type Query = Record<string, string | number | null | undefined>;

/** The lists that come in pages, by the name under which an answer has them. */
/** A browser that has a page of the site open. */
interface PresentVisitor {
  /** Of the browser. */
  id: string;
  /** null: the chat was never opened. */
  visitor_id: string | null;
  name: string;
  state: 'here' | 'away';
  page: string;
  title: string;
  page_at: string;
  began_at: string;
  pages: number;
  visits: number;
  referrer: string;
  campaign: string;
  country: string | null;
  language: string;
  user_agent: string;
  /** Of the page, without its query. */
  path: string;
  /** The campaign or the host of the referrer; empty: neither is known. */
  source: string;
  session: string | null;
  status: string | null;
  operator_id: string | null;
  operator_name: string;
  waits_since: string | null;
  /** Of one visitor only. */
  trail?: { page: string; title: string; at: string }[];
}

type PresentVisitorCounts = Record<
  'states' | 'paths' | 'sources' | 'countries' | 'visits', { value: string; count: number }[]>;

interface PresentVisitors {
  visitors: PresentVisitor[];
  /** That match the filters. */
  total: number;
  on_site: number;
  is_full: boolean;
  counts: PresentVisitorCounts;
  enabled: boolean;
  now: string;
}

interface ProactiveConditions {
  path: string;
  seconds: number;
  scroll_percent: number;
  /** `anybody`, `new` or `returning` */
  audience: string;
  when_open: boolean;
  when_available: boolean;
  once: boolean;
  attributes: Record<string, string | number | boolean>;
}

interface ProactiveMessage {
  id: string;
  name: string;
  body: string;
  sender_name: string | null;
  conditions: ProactiveConditions;
  is_enabled: boolean;
  shown: number;
  answered: number;
}

interface Lists {
  proactive_messages: ProactiveMessage;
  members: Member;
  teams: Team;
  api_keys: ApiKey;
  identity_secrets: IdentitySecret;
  credentials: StoredCredential;
  reply_objects: ReplyObject;
  intents: Intent;
  rich_menus: RichMenu;
  macros: Macro;
  webhooks: Webhook;
  audit_log: AuditEntry;
  connections: ConnectionRow;
}

type ListPage<Name extends keyof Lists> = Record<Name, Lists[Name][]>
  & { next_cursor: string | null };

/** The routes below /api/v1/admin/ (or a path from the root), and their answers. */
interface Rest {
  get(path: 'settings'): Promise<SettingsAnswer>;
  get(path: 'attachments/usage'): Promise<{ bytes: number; total_bytes: number }>;
  get(path: 'identity-provider'): Promise<IdentityProviderAnswer>;
  get(path: 'assist'): Promise<AssistAnswer>;
  get(path: 'channels'): Promise<{ channels: Channel[] }>;
  get(path: `channels/${string}/quota`): Promise<ChannelQuotaAnswer>;
  get(path: 'live-chat/analytics', query: Query): Promise<Analytics>;
  get(path: 'live-chat/analytics/operators', query: Query): Promise<GroupsAnswer<'operators'>>;
  get(path: 'live-chat/analytics/teams', query: Query): Promise<GroupsAnswer<'teams'>>;
  get(path: 'live-chat/analytics/channels', query: Query): Promise<GroupsAnswer<'channels'>>;
  get(path: 'live-chat/analytics/tags', query: Query): Promise<GroupsAnswer<'tags'>>;
  get(path: 'live-chat/analytics/ratings', query: Query): Promise<RatingPage>;
  get(path: 'live-chat/deleted-conversations', query: Query): Promise<DeletedPage>;
  get(path: 'members', query?: Query): Promise<ListPage<'members'>>;
  get(path: 'teams', query?: Query): Promise<ListPage<'teams'>>;
  get(path: 'api-keys', query?: Query): Promise<ListPage<'api_keys'>>;
  get(path: 'identity-secrets', query?: Query): Promise<ListPage<'identity_secrets'>>;
  get(path: 'credentials', query?: Query): Promise<ListPage<'credentials'>>;
  get(path: 'reply-objects', query?: Query): Promise<ListPage<'reply_objects'>>;
  get(path: 'intents', query?: Query): Promise<ListPage<'intents'>>;
  get(path: 'macros', query?: Query): Promise<ListPage<'macros'>>;
  get(path: 'live-chat/visitors', query: Query): Promise<PresentVisitors>;
  get(path: 'live-chat/conversations', query: Query): Promise<{ conversations: ConversationRow[] }>;
  get(path: `live-chat/visitors/${string}`): Promise<{ visitor: PresentVisitor }>;
  get(path: 'proactive-messages', query?: Query): Promise<ListPage<'proactive_messages'>>;
  get(path: 'rich-menus', query?: Query): Promise<ListPage<'rich_menus'>>;
  get(path: 'webhooks', query?: Query): Promise<ListPage<'webhooks'>>;
  get(path: 'audit-log', query?: Query): Promise<ListPage<'audit_log'>>;
  get(
    path: 'connections', query?: Query,
  ): Promise<ListPage<'connections'> & { silent_gateways?: string[] }>;
  get(path: `connections/${string}`): Promise<{ connection: ConnectionRow }>;
  get(path: `connection-traces/${string}`, query: Query): Promise<TraceAnswer>;
  get(path: 'mail'): Promise<{ configured: boolean, from: string | null }>;
  get(path: `mail/messages?limit=${number}`): Promise<{ messages: MailMessage[] }>;
  get(path: `webhooks/${string}/deliveries`, query?: Query): Promise<{ deliveries: Delivery[] }>;
  get(path: '/api/v1/auth/push'): Promise<Push>;
  get(path: '/api/v1/auth/sessions'): Promise<{ sessions: LoginSession[] }>;
  post(path: 'mail/test', body: object): Promise<{ recipient: string }>;
  post(path: '/api/v1/auth/sessions/end-others'): Promise<{ ended: number }>;
  post(path: '/api/v1/auth/password', body: { current: string; new: string }): Promise<unknown>;
  post(path: 'assist/trial'): Promise<AssistTrial>;
  post(path: `channels/${string}/test`): Promise<ChannelTrial>;
  post(path: 'members', body: object): Promise<{ member: Member }>;
  post(path: 'teams', body: object): Promise<{ team: Team }>;
  post(path: 'api-keys', body: object): Promise<{ api_key: ApiKey; key: string }>;
  post(
    path: 'identity-secrets', body: object,
  ): Promise<{ identity_secret: IdentitySecret; secret: string }>;
  post(path: 'intents', body: object): Promise<{ intent: Intent }>;
  post(path: 'macros', body: object): Promise<{ macro: Macro }>;
  post(path: 'proactive-messages', body: object):
    Promise<{ proactive_message: ProactiveMessage }>;
  post(path: `live-chat/visitors/${string}/conversation`, body: object):
    Promise<{ conversation: { id: string } }>;
  post(path: 'rich-menus', body: object): Promise<{ rich_menu: RichMenu }>;
  post(path: 'webhooks', body: object): Promise<{ webhook: Webhook }>;
  post(path: `members/${string}/reset-second-factor`): Promise<unknown>;
  post(path: `live-chat/conversations/${string}/restore`): Promise<unknown>;
  post(path: `webhooks/${string}`): Promise<unknown>;
  post(path: `connections/${string}/disconnect`, body: object): Promise<unknown>;
  post(path: `connections/${string}/trace`): Promise<{ trace: { id: string } }>;
  put(path: 'assist', body: object): Promise<AssistAnswer>;
  put(path: `teams/${string}/members`, body: object): Promise<{ team: Team }>;
  put(path: '/api/v1/auth/push', body: object): Promise<unknown>;
  put(path: 'identity-provider', body: object): Promise<IdentityProviderAnswer>;
  /** With `isNew` an object that exists is refused, with 412. */
  put(
    path: `credentials/${string}`, body: object, isNew?: boolean,
  ): Promise<{ credential: StoredCredential }>;
  put(
    path: `reply-objects/${string}`, body: object, isNew?: boolean,
  ): Promise<{ reply_object: ReplyObject }>;
  put(path: `intents/${string}`, body: object, isNew?: boolean): Promise<{ intent: Intent }>;
  patch(path: 'settings', body: SettingsChange): Promise<SettingsAnswer>;
  patch(path: `members/${string}`, body: object): Promise<{ member: Member }>;
  patch(path: `teams/${string}`, body: object): Promise<{ team: Team }>;
  patch(path: `macros/${string}`, body: object): Promise<{ macro: Macro }>;
  patch(path: `proactive-messages/${string}`, body: object):
    Promise<{ proactive_message: ProactiveMessage }>;
  patch(path: `rich-menus/${string}`, body: object): Promise<{ rich_menu: RichMenu }>;
  patch(path: `webhooks/${string}`, body: object): Promise<{ webhook: Webhook }>;
  remove(path: string): Promise<unknown>;
}

/** One change of a conversation, in a macro or a bulk request. */
interface Action {
  type: string;
  text?: string;
  /** The name of a reply object, instead of a text. */
  object?: string;
  tags?: string[];
  /** `me`, `queue` or the id of an operator */
  to?: string;
  /** A team, instead of an operator; null: no team. */
  to_team?: string | null;
  reason?: string;
}

interface Macro {
  id: string;
  name: string;
  is_shared: boolean;
  may_change: boolean;
  actions: Action[];
}

/** Parameters of the list of conversations. */
interface Filters {
  /** `waiting`, `active`, or `open` for both */
  status?: string;
  /** the id of an operator, `me` or `none` */
  assignee?: string;
  /** the id of a team, or `none` */
  team?: string;
  tag?: string;
  /** a language tag */
  language?: string;
  waiting_minutes?: number;
  /** A target is due within this time, or was missed. */
  due_minutes?: number;
  /** `name=value` of the visitor */
  attribute?: string;
  /** `web` or `line` */
  channel?: string;
}

/** A saved view of the list. */
interface View {
  id: string;
  name: string;
  is_shared: boolean;
  may_change: boolean;
  filters: Filters;
  /** Conversations in it, at most 1,000. */
  count: number;
}

interface ActionResult {
  id: string;
  outcome: 'done' | 'unchanged' | 'failed';
  actions_done: number;
  closed_by: Named | null;
  problem: { type: string; title: string; detail: string } | null;
}

interface ActionResults {
  results: ActionResult[];
  done_count: number;
  unchanged_count: number;
  failed_count: number;
}

// Push messages to this browser.

interface Push {
  /** Base64url. */
  public_key: string;
  subscribed: boolean;
  waiting: boolean;
  messages: boolean;
  texts: boolean;
}
