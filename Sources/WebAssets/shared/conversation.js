// The client's copy of one session: entries merged by id, a counter without holes, and its state.
// Invariant: `next` is the seq that must come; whatever comes instead of it closes the link with
// 4190, and the subscription resumes at `next`.

import { Marks } from './marks.js';
import { Ask, Close, Fault, Kind, Tell } from './protocol.js';
import { Typing } from './typing.js';

const TAIL = 50;

/**
 * @typedef {{seq: number, id: string, sender: {kind: string, id?: string, name?: string},
 *   kind: string, body: string, payload?: any, at: string}} Entry
 */

export class Conversation {
  /** @type {Entry[]} by seq */ entries = [];
  /** @type {Map<string, Entry>} */ ids = new Map();
  epoch = ''; next = 0; oldest = 0; head = 0; status = ''; assignee = null;
  ready = false; live = false; lost = ''; loading = false; queue = /** @type {any} */ (null);
  #link; #changed; #me;

  /**
   * @param {import('./socket.js').Link} link
   * @param {string} session
   * @param {{kind: string, id: string}} me
   * @param {(what: string, detail?: any) => void} changed
   */
  constructor(link, session, me, changed) {
    this.#link = link;
    this.session = session;
    this.#me = me;
    this.#changed = changed;
    const tell = (frame) => this.ready && link.tell({ ...frame, session });
    this.marks = new Marks(me, tell);
    this.typing = new Typing(tell, () => changed('typing'));
  }

  /** Subscribes, or resumes after the last entry seen. */
  open() {
    this.live = this.ready = false;
    const from = this.next ? { after: this.next - 1, epoch: this.epoch } : { tail: TAIL };
    this.#link.ask(
      { type: Ask.subscribe, session: this.session, ...from },
      (answer) => this.frame(answer),
    );
  }

  /** How the outbox sends here, null while it cannot. */
  route() {
    const { session } = this;
    return this.ready && this.#link.state === 'open' ? ({ id, kind, body, payload }) => (
      new Promise((done) => {
        this.#link.ask({ type: Ask.send, session, id, kind, body, payload }, done);
      })
    ) : null;
  }

  leave() {
    this.typing.type('');
    this.ready = false;
    this.#link.ask({ type: Ask.unsubscribe, session: this.session });
  }

  frame(frame) {
    switch (frame.type) {
      case Tell.subscribed: return this.#subscribed(frame);
      case Tell.message: return this.#message(frame);
      case Tell.live:
        this.live = true;
        this.head = Math.max(this.head, frame.seq);
        return this.#changed('live');
      case Tell.more: return this.open();
      case Tell.mark: this.marks.put(frame); return this.#changed('mark');
      case Tell.typing: return this.typing.heard(frame);
      case Tell.queue: this.queue = frame; return this.#changed('queue');
      case Tell.session:
        this.status = frame.status ?? this.status;
        if ('assignee' in frame) this.assignee = frame.assignee;
        return this.#changed('state');
      case Tell.resync: // while a subscribe is under way, its answer follows
        this.#forget();
        return this.ready ? this.open() : undefined;
      case Tell.unsubscribed:
      case Tell.error: return this.#refused(frame);
    }
  }

  /** Our message is committed, perhaps before its own frame arrives. */
  commit(item, ack, name = '') {
    if (this.ids.has(item.id)) return;
    this.#insert({
      seq: ack.seq,
      id: item.id,
      sender: { ...this.#me, name },
      kind: item.kind,
      body: item.body,
      payload: item.payload,
      at: ack.at,
    });
    this.#changed('message');
  }

  /** Fetches a page before the oldest entry. */
  older() {
    if (this.loading || this.oldest <= 1 || !this.ready) return;
    this.loading = true;
    const ask = { type: Ask.history, session: this.session, before: this.oldest, limit: TAIL };
    this.#link.ask(ask, (answer) => {
      this.loading = false;
      if (answer.type === Tell.error) return;
      for (const entry of answer.messages) this.#insert(entry);
      this.oldest = Math.min(this.oldest, ...answer.messages.map((entry) => entry.seq));
      if (!answer.more) this.oldest = 1;
      this.#changed('older');
    });
  }

  /** Entries of the others after our own read mark. */
  unread() {
    const { read } = this.marks;
    return this.entries.filter(
      ({ seq, kind, sender }) => seq > read && kind !== Kind.event && sender.kind !== this.#me.kind
    );
  }

  #subscribed(frame) {
    if (this.epoch && frame.epoch !== this.epoch) this.#forget();
    this.epoch = frame.epoch;
    this.next = frame.from;
    if (!this.oldest) this.oldest = frame.from;
    this.head = frame.head;
    this.status = frame.status;
    this.assignee = frame.assignee ?? null;
    this.lost = '';
    this.ready = true;
    this.marks.replace(frame.marks);
    this.#changed('ready');
  }

  #message(frame) {
    if (!this.ready) return; // it comes again after `subscribed`
    if (frame.seq > this.next) return this.#link.drop(Close.hole);
    if (frame.seq === this.next) this.next += 1;
    this.head = Math.max(this.head, frame.seq);
    const known = this.ids.get(frame.id);
    if (known) Object.assign(known, frame); else this.#insert(frame);
    this.marks.confirm('delivered', frame.seq);
    this.typing.hush(frame.sender);
    this.#changed('message', known ? undefined : frame);
  }

  #insert(entry) {
    if (entry.kind === Kind.hidden || this.ids.has(entry.id)) return;
    this.ids.set(entry.id, entry);
    let at = this.entries.length;
    while (at > 0 && this.entries[at - 1].seq > entry.seq) at -= 1;
    this.entries.splice(at, 0, entry);
  }

  #refused(frame) {
    if (frame.code === Fault.disconnected) return;
    this.ready = false;
    if (frame.retry) {
      setTimeout(() => this.open(), frame.retry_after_ms ?? 1000 + Math.random() * 2000);
      return;
    }
    this.lost = frame.code;
    this.#changed('lost');
  }

  #forget() {
    this.entries = [];
    this.ids.clear();
    this.next = this.oldest = this.head = 0;
    this.epoch = '';
    this.marks.forget();
  }
}
