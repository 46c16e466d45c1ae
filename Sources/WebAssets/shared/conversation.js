// The client's copy of one session: its entries, merged by id, and its state.
// Invariant: `next` is the seq of the next message. A higher one is a hole: the link closes with
// 4190, and the subscription resumes at `next` (PROTOCOL.md, Guarantees).

import { within } from './backoff.js';
import { Marks } from './marks.js';
import { Close, Command, Event, Fault, Kind } from './protocol.js';
import { Typing } from './typing.js';

const TAIL = 50; // entries of the first page and of each page of history

export class Conversation {
  /**
   * Sorted by seq.
   * @type {Entry[]}
   */
  entries = [];
  /** @type {Map<string, Entry>} */
  ids = new Map();
  next = 0;
  oldest = 0;
  head = 0;
  epoch = '';
  /**
   * Undefined before the first `subscribed`.
   * @type {string=}
   */
  status;
  /** @type {Named | null | undefined} */
  assignee;
  /** The operator who is away, by id; shown to visitors. */
  away = '';
  /** @type {QueuePlace=} */
  queue;
  /** Whether the session is subscribed, so that it may be written to. */
  ready = false;
  /** Whether the backlog is complete. */
  live = false;
  loading = false;
  /** The code of an error after which subscribing again is of no use. */
  lost = '';
  #link;
  #changed;
  #me;

  /**
   * @param {import('./socket.js').Link} link
   * @param {string} session
   * @param {{kind: string, id: string}} me
   * @param {(type?: string, entry?: MessageFrame | HiddenFrame) => void} changed is called with the
   *   type of the frame, and with the entry if it is new in the log
   */
  constructor(link, session, me, changed) {
    this.#link = link;
    this.session = session;
    this.#me = me;
    this.#changed = changed;
    /** @param {Signal} signal */
    const send = (signal) => this.ready && link.send({ ...signal, session });
    this.marks = new Marks(me, send);
    this.typing = new Typing(send, () => changed(Event.typing));
  }

  /** Subscribes, or resumes after the last entry seen. */
  open() {
    this.live = this.ready = false;
    const from = this.next ? { after: this.next - 1, epoch: this.epoch } : { tail: TAIL };
    this.#link.request(
      { type: Command.subscribe, session: this.session, ...from },
      (answer) => this.frame(answer),
    );
  }

  /** The function that the outbox sends with, or false while nothing can be sent. */
  route() {
    const { session } = this;
    if (!this.ready || this.#link.state !== 'open') return false;
    /** @type {import('./outbox.js').Route} */
    const route = ({ id, kind, body, payload }) => new Promise((done) => {
      this.#link.request({ type: Command.send, session, id, kind, body, payload }, done);
    });
    return route;
  }

  /**
   * Applies a frame of this session.
   * @param {ServerFrame} frame
   */
  frame(frame) {
    const { type } = frame;
    if (type === Event.message) return this.#message(frame);
    if (type === Event.typing) return this.typing.receive(frame);
    if (type === Event.subscribed) {
      if (this.epoch && frame.epoch !== this.epoch) this.#forget();
      this.epoch = frame.epoch;
      this.next = frame.from;
      this.oldest ||= frame.from;
      this.head = frame.head;
      this.status = frame.status;
      this.assignee = frame.assignee ?? null;
      this.lost = this.away = '';
      this.ready = true;
      this.marks.replace(frame.marks);
    } else if (type === Event.live) {
      this.live = true;
      this.head = Math.max(this.head, frame.seq);
    } else if (type === Event.mark) {
      this.marks.put(frame);
    } else if (type === Event.presence) {
      if (frame.who.kind === 'operator') this.away = frame.online === false ? frame.who.id : '';
    } else if (type === Event.queue) {
      this.queue = frame;
    } else if (type === Event.session) {
      this.status = frame.status ?? this.status;
      if ('assignee' in frame) this.assignee = frame.assignee;
    } else if (type === Event.more) {
      this.open();
    } else if (type === Event.resync) { // the answer to a pending subscribe follows it
      this.#forget();
      if (this.ready) this.open();
    } else if (type === Event.unsubscribed || type === Event.error) {
      if (frame.code === Fault.disconnected) return;
      this.ready = this.live = false;
      if (frame.retry) setTimeout(() => this.open(), frame.retry_after_ms ?? within(1000, 3000));
      else this.lost = frame.code;
    }
    this.#changed(type);
  }

  /**
   * Our message is committed; its own frame may arrive later.
   * @param {import('./outbox.js').Item} item
   * @param {import('./outbox.js').Stored} stored
   * @param {string=} name
   */
  commit(item, { seq, at }, name = '') {
    this.#insert({ ...item, seq, at, sender: { ...this.#me, name } });
    this.#changed(Event.ack);
  }

  /** Fetches the page before the oldest entry. */
  older() {
    // before `live` the view is at the top because the backlog is still arriving
    if (this.loading || this.oldest <= 1 || !this.live) return;
    this.loading = true;
    const { session, oldest: before } = this;
    this.#link.request({ type: Command.history, session, before, limit: TAIL }, (answer) => {
      this.loading = false;
      if (answer.type !== Event.ok || !answer.messages) return;
      for (const entry of answer.messages) this.#insert(entry);
      this.oldest = answer.more
        ? Math.min(this.oldest, ...answer.messages.map(({ seq }) => seq))
        : 1;
      this.#changed();
    });
  }

  /** Entries of the other side after our own read mark. */
  unread() {
    const { read } = this.marks;
    return this.entries.filter(
      ({ seq, kind, sender }) => seq > read && kind !== Kind.event && sender.kind !== this.#me.kind
    );
  }

  /** @param {MessageFrame | HiddenFrame} frame */
  #message(frame) {
    if (!this.ready) return; // the next subscription repeats it
    if (frame.seq > this.next) return this.#link.drop(Close.hole);
    if (frame.seq === this.next) this.next += 1;
    this.head = Math.max(this.head, frame.seq);
    const known = frame.id && this.ids.get(frame.id);
    if (known) Object.assign(known, frame);
    else if (frame.id) this.#insert(frame);
    this.marks.confirm('delivered', frame.seq);
    if (frame.sender) this.typing.stop(frame.sender);
    this.#changed(Event.message, known ? undefined : frame);
  }

  /** @param {Entry} entry */
  #insert(entry) {
    if (entry.kind === Kind.hidden || this.ids.has(entry.id)) return;
    this.ids.set(entry.id, entry);
    this.entries.push(entry);
    this.entries.sort((a, b) => a.seq - b.seq);
  }

  #forget() {
    this.entries = [];
    this.ids.clear();
    this.next = this.oldest = this.head = 0;
    this.epoch = '';
    this.marks.forget();
  }
}
