// The client's copy of one session: entries merged by id, a counter without holes, and its state.
// Invariant: `next` is the seq that must come; whatever comes instead of it closes the link with
// 4190, and the subscription resumes at `next`.

import { within } from './backoff.js';
import { Marks } from './marks.js';
import { Close, Command, Event, Fault, Kind } from './protocol.js';
import { Typing } from './typing.js';

const TAIL = 50;

export class Conversation {
  /**
   * By seq.
   * @type {Entry[]}
   */
  entries = [];
  /** @type {Map<string, Entry>} */
  ids = new Map();
  next = 0;
  oldest = 0;
  head = 0;
  epoch = '';
  // Nothing until the gateway has said it.
  /** @type {string=} */
  status;
  /** @type {Row['assignee']} */
  assignee;
  /** @type {{position: number, wait_ms?: number}=} */
  queue;
  ready = false;
  live = false;
  loading = false;
  /** Why there is no way back. */
  lost = '';
  #link;
  #changed;
  #me;

  /**
   * @param {import('./socket.js').Link} link
   * @param {string} session
   * @param {{kind: string, id: string}} me
   * @param {(what?: string, detail?: any) => void} changed gets the type of the frame, and what is
   *   new in the log
   */
  constructor(link, session, me, changed) {
    this.#link = link;
    this.session = session;
    this.#me = me;
    this.#changed = changed;
    /** @param {Frame} frame */
    const tell = (frame) => this.ready && link.tell({ ...frame, session });
    this.marks = new Marks(me, tell);
    this.typing = new Typing(tell, () => changed(Event.typing));
  }

  /** Subscribes, or resumes after the last entry seen. */
  open() {
    this.live = this.ready = false;
    const from = this.next ? { after: this.next - 1, epoch: this.epoch } : { tail: TAIL };
    this.#link.ask(
      { type: Command.subscribe, session: this.session, ...from },
      (answer) => this.frame(answer),
    );
  }

  /** How the outbox sends here, nothing while it cannot. */
  route() {
    const { session } = this;
    return this.ready && this.#link.state === 'open' && ((/** @type {import('./outbox.js').Item} */ { id, kind, body, payload }) => (
      new Promise((done) => {
        this.#link.ask({ type: Command.send, session, id, kind, body, payload }, done);
      })
    ));
  }

  /** @param {Frame} frame */
  frame(frame) {
    const { type } = frame;
    if (type === Event.message) return this.#message(frame);
    if (type === Event.typing) return this.typing.heard(/** @type {any} */ (frame));
    if (type === Event.subscribed) {
      if (this.epoch && frame.epoch !== this.epoch) this.#forget();
      this.epoch = frame.epoch;
      this.next = frame.from;
      this.oldest ||= frame.from;
      this.head = frame.head;
      this.status = frame.status;
      this.assignee = frame.assignee ?? null;
      this.lost = '';
      this.ready = true;
      this.marks.replace(frame.marks);
    } else if (type === Event.live) {
      this.live = true;
      this.head = Math.max(this.head, frame.seq);
    } else if (type === Event.mark) {
      this.marks.put(/** @type {any} */ (frame));
    } else if (type === Event.queue) {
      this.queue = /** @type {any} */ (frame);
    } else if (type === Event.session) {
      this.status = frame.status ?? this.status;
      if ('assignee' in frame) this.assignee = frame.assignee;
    } else if (type === Event.more) {
      this.open();
    } else if (type === Event.resync) { // while a subscribe is under way, its answer follows
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
   * Our message is committed, perhaps before its own frame arrives.
   * @param {any} item
   * @param {{seq: number, at: string | number | Date}} of1
   * @param {string=} name
   */
  commit(item, { seq, at }, name = '') {
    this.#insert({ ...item, seq, at, sender: { ...this.#me, name } });
    this.#changed(Event.ack);
  }

  /** Fetches a page before the oldest entry. */
  older() {
    if (this.loading || this.oldest <= 1 || !this.live) return; // a log that fills is at its top
    this.loading = true;
    const ask = { type: Command.history, session: this.session, before: this.oldest, limit: TAIL };
    this.#link.ask(ask, (answer) => {
      this.loading = false;
      if (answer.type === Event.error) return;
      for (const entry of answer.messages) this.#insert(entry);
      this.oldest = answer.more
        ? Math.min(this.oldest, ...answer.messages.map((/** @type {{seq: number}} */ { seq }) => seq))
        : 1;
      this.#changed();
    });
  }

  /** Entries of the others after our own read mark. */
  unread() {
    const { read } = this.marks;
    return this.entries.filter(
      ({ seq, kind, sender }) => seq > read && kind !== Kind.event && sender.kind !== this.#me.kind
    );
  }

  /** @param {Frame} frame */
  #message(frame) {
    if (!this.ready) return; // it comes again after `subscribed`
    if (frame.seq > this.next) return this.#link.drop(Close.hole);
    if (frame.seq === this.next) this.next += 1;
    this.head = Math.max(this.head, frame.seq);
    const known = this.ids.get(frame.id);
    if (known) Object.assign(known, frame); else this.#insert(/** @type {any} */ (frame));
    this.marks.confirm('delivered', frame.seq);
    this.typing.hush(frame.sender);
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
