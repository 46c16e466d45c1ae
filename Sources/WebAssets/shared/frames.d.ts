/**
 * The frames of chirrup.v1 (Sources/PROTOCOL.md), as far as widget and console use them. A client
 * ignores types and fields that it does not know.
 */

/** The words of a text. */
type Words<S extends string> = S extends `${infer Line}\n${infer Rest}` ? Words<Line> | Words<Rest>
  : S extends `${infer Word} ${infer Rest}` ? Words<Word> | Words<Rest>
  : S extends '' ? never : S;

/** An object in which each of the words is its own value. */
type Names<List extends string> = { readonly [Name in Words<List>]: Name };

/** An operator or a workspace, by id and name. */
interface Named {
  id: string;
  name: string;
}

/** A visitor or an operator. */
interface Person {
  kind: string;
  id: string;
  name?: string;
}

/** The author of an entry: `visitor`, `operator`, `bot` or `system`. The system has no id. */
interface Sender {
  kind: string;
  id: string | null;
  name?: string;
}

/** A button, or a quick reply. `type` is `reply`, `url`, `message` or `operator`. */
interface Choice {
  label: string;
  type?: string;
  value?: string;
}

interface Card {
  title?: string;
  text?: string;
  image_url?: string;
  buttons?: Choice[];
}

/**
 * The content of a message beside its text. Bots and other servers write it, so a reader checks
 * each part before it uses it.
 */
interface Payload extends Card {
  cards?: Card[];
  quick_replies?: Choice[];
  /** The visitor's answer to a choice: the message that offered it, and the value. */
  reply?: { to: string; value?: string };
  /** The visitor asks for an operator, of the team with this id or name perhaps. */
  handover?: boolean;
  team?: Named | string | null;
  /** The kind of an event line, and its details. */
  event?: string;
  operator?: Named;
  by?: Named;
  from?: Named | null;
  to?: Named | null;
  reason?: string;
  rating?: number;
  comment?: string;
  /** The message came by e-mail. */
  email?: object;
  /** Why what came on a channel, such as a picture, could not be fetched. */
  missing?: string;
  /** Of the kind `file`: its files, and whether the body is a caption that somebody wrote. */
  attachments?: AttachmentFile[];
  caption?: boolean;
}

/** A file of a message. Pictures have a size if the gateway could read it. */
interface AttachmentFile {
  id: string;
  name: string;
  type: string;
  bytes: number;
  width?: number;
  height?: number;
  alt?: string;
}

/** One entry of a log: a message, a note or an event line. */
interface Entry {
  seq: number;
  id: string;
  sender: Sender;
  kind: string;
  body: string;
  payload?: Payload;
  /** RFC 3339 */
  at: string;
}

/** How far one person has received and read a log, as seqs. */
interface Mark {
  who?: Person;
  read: number;
  delivered: number;
}

/** A visitor's place in the queue: 1 is next, 0 is no longer waiting. */
interface QueuePlace {
  position: number;
  wait_ms?: number | null;
}

// Frames that the gateway sends.

interface WelcomeFrame {
  type: 'welcome';
  session?: undefined;
  node: string;
  /** The gateway's time. */
  now: string;
  heartbeat: { interval_ms: number; timeout_ms: number };
  you: Person;
}

interface SubscribedFrame {
  type: 'subscribed';
  session: string;
  epoch: string;
  head: number;
  from: number;
  status: string;
  assignee?: Named | null;
  marks?: Mark[];
}

interface MessageFrame extends Entry {
  type: 'message';
  session: string;
}

/** An operators' note as a visitor receives it: it is counted and not shown. */
interface HiddenFrame {
  type: 'message';
  session: string;
  seq: number;
  kind: 'hidden';
  id?: undefined;
  sender?: undefined;
}

interface LiveFrame {
  type: 'live';
  session: string;
  seq: number;
}

/** More entries exist than the backlog could send. */
interface MoreFrame {
  type: 'more';
  session: string;
}

interface AckFrame {
  type: 'ack';
  session: string;
  id: string;
  seq: number;
  at: string;
}

/** The answer to `history` has messages. */
interface OkFrame {
  type: 'ok';
  session?: undefined;
  messages?: Entry[];
  more?: boolean;
}

interface ErrorFrame {
  type: 'error';
  session?: string;
  code: string;
  retry: boolean;
  retry_after_ms?: number;
}

interface MarkFrame extends Mark {
  type: 'mark';
  session: string;
}

interface TypingFrame {
  type: 'typing';
  session: string;
  who: Person;
  active: boolean;
  preview?: string;
}

interface PresenceFrame {
  type: 'presence';
  session: string;
  who: Person;
  online?: boolean;
  viewing?: boolean;
}

interface QueueFrame extends QueuePlace {
  type: 'queue';
  session: string;
}

interface SessionFrame {
  type: 'session';
  session: string;
  status?: string;
  assignee?: Named | null;
}

interface InboxFrame {
  type: 'inbox';
  session: string;
  conversation?: ConversationRow;
  removed?: true;
}

interface UnsubscribedFrame {
  type: 'unsubscribed';
  session: string;
  code: string;
  retry: boolean;
  retry_after_ms?: number;
}

interface ResyncFrame {
  type: 'resync';
  session: string;
}

interface DrainFrame {
  type: 'drain';
  session?: undefined;
  min_ms: number;
  max_ms: number;
}

interface SignalFrame {
  type: 'ping' | 'token_expiring';
  session?: undefined;
}

/** Frames of one session. */
type SessionEvent = SubscribedFrame | MessageFrame | HiddenFrame | LiveFrame | MoreFrame | MarkFrame
  | TypingFrame | PresenceFrame | QueueFrame | SessionFrame | InboxFrame | UnsubscribedFrame
  | ResyncFrame;

/** The one answer to a command. */
type Answer = WelcomeFrame | SubscribedFrame | AckFrame | OkFrame | ErrorFrame;

type ServerFrame = { ref?: number } & (SessionEvent | Answer | DrainFrame | SignalFrame);

/** The callback of a command, for its one answer. */
type Answered = (answer: Answer) => void;

// Frames that a client sends. `Link` adds `ref`.

/** Signals about the client itself in a session; they have no answer. */
type Signal = { type: 'read' | 'delivered'; seq: number }
  | { type: 'typing'; active: boolean; preview?: string };

type ClientFrame = Signal & { session: string }
  | { type: 'hello'; token: string; client: { name: string; version: string } }
  | { type: 'authenticate'; token: string }
  | { type: 'subscribe'; session: string; after?: number; tail?: number; epoch?: string }
  | { type: 'unsubscribe'; session: string }
  | { type: 'send'; session: string; id: string; kind: string; body: string; payload?: Payload }
  | { type: 'history'; session: string; before: number; limit: number }
  | { type: 'watch'; inbox: boolean; active?: boolean }
  | { type: 'viewing'; session: string; active: boolean }
  | { type: 'available'; available: boolean }
  | { type: 'pong' };
