// The client's copy of one session: entries merged by id, a counter without holes, state, marks, typing.
// Invariant: `next` is the seq that must come; whatever comes instead of it closes the link with 4190,
// and the subscription resumes at `next`.

import { Ask, Close, Fault, Kind, Tell } from './protocol.js';

const TAIL = 50;
const EVERY = 700; // ms between two frames of typing
const IDLE = 4000; // and how long after the last key somebody still types
const TYPING_MAX = 8000; // a typist who fell silent without saying so

/** @typedef {{seq: number, id: string, sender: {kind: string, id?: string, name?: string}, kind: string,
 *   body: string, payload?: any, at: string}} Entry */

export class Conversation {
  /** @type {Entry[]} by seq */ entries = [];
  /** @type {Map<string, Entry>} */ ids = new Map();
  marks = new Map(); typists = new Map();
  epoch = ''; next = 0; oldest = 0; head = 0; status = ''; assignee = null;
  ready = false; live = false; lost = ''; loading = false;
  #link; #changed; #me; #sent = { read: 0, delivered: 0 }; #due = { read: 0, delivered: 0 }; #timer = 0;
  #typed = ''; #told = ''; #pause = 0; #idle = 0;

  /** @param {import('./socket.js').Link} link @param {string} session
   *  @param {{kind: string, id: string}} me @param {(what: string, detail?: any) => void} changed */
  constructor(link, session, me, changed) {
    this.#link = link;
    this.session = session;
    this.#me = me;
    this.#changed = changed;
  }

  /** Subscribes, or resumes after the last entry seen. */
  open() {
    this.live = this.ready = false;
    const from = this.next ? { after: this.next - 1, epoch: this.epoch } : { tail: TAIL };
    this.#link.ask({ type: Ask.subscribe, session: this.session, ...from }, (answer) => this.frame(answer));
  }

  leave() {
    clearTimeout(this.#timer);
    this.#link.ask({ type: Ask.unsubscribe, session: this.session });
  }

  frame(frame) {
    switch (frame.type) {
      case Tell.subscribed: return this.#subscribed(frame);
      case Tell.message: return this.#message(frame);
      case Tell.live: this.live = true; this.head = Math.max(this.head, frame.seq); return this.#changed('live');
      case Tell.more: return this.open();
      case Tell.mark: this.#mark(frame); return this.#changed('mark');
      case Tell.typing: return this.#typing(frame);
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
    this.#insert({ seq: ack.seq, id: item.id, sender: { ...this.#me, name }, kind: item.kind, body: item.body, at: ack.at });
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

  /** How far the other side has come: the furthest of its people. @param {string} kind */
  reached(kind) {
    const far = { read: 0, delivered: 0 };
    for (const { who, read, delivered } of this.marks.values()) {
      if (who.kind !== kind) continue;
      far.read = Math.max(far.read, read);
      far.delivered = Math.max(far.delivered, delivered, read);
    }
    return far;
  }

  /** Entries of the others after our own read mark. */
  unread() {
    const read = Math.max(this.marks.get(key(this.#me))?.read ?? 0, this.#due.read);
    return this.entries.filter((entry) => entry.seq > read && spoken(entry) && entry.sender.kind !== this.#me.kind);
  }

  /** Cumulative, and at most one frame a second for each. @param {'read'|'delivered'} what */
  confirm(what, seq) {
    if (seq <= this.#due[what]) return;
    this.#due[what] = seq;
    if (!this.#timer) this.#confirmNow();
  }

  /** At most one frame in 0.7 s, and always one with the latest text. @param {string} preview '' says that nobody types */
  type(preview) {
    if (!this.ready || preview === this.#typed) return;
    this.#typed = preview;
    clearTimeout(this.#idle);
    if (preview) this.#idle = setTimeout(() => this.type(''), IDLE);
    else { clearTimeout(this.#pause); this.#pause = 0; }
    if (!this.#pause) this.#tellTyping();
  }

  #tellTyping() {
    this.#pause = 0;
    const text = this.#typed;
    if (text === this.#told) return;
    this.#told = text;
    this.#link.tell({ type: Ask.typing, session: this.session, active: text !== '', ...(text && { preview: cut(text) }) });
    if (text) this.#pause = setTimeout(() => this.#tellTyping(), EVERY);
  }

  #subscribed(frame) {
    if (this.epoch && frame.epoch !== this.epoch) this.#forget();
    this.epoch = frame.epoch;
    this.next = frame.from;
    if (!this.oldest) this.oldest = frame.from;
    this.head = frame.head;
    this.status = frame.status;
    this.assignee = frame.assignee ?? null;
    this.marks.clear();
    for (const mark of frame.marks ?? []) this.#mark(mark);
    const own = this.marks.get(key(this.#me));
    this.#sent = { read: own?.read ?? 0, delivered: own?.delivered ?? 0 };
    this.lost = '';
    this.ready = true;
    this.#typed = this.#told = '';
    this.#changed('ready');
    this.#confirmNow();
  }

  #message(frame) {
    if (frame.seq > this.next) return this.#link.drop(Close.hole);
    if (frame.seq === this.next) this.next += 1;
    this.head = Math.max(this.head, frame.seq);
    const known = this.ids.get(frame.id);
    if (known) Object.assign(known, frame); else this.#insert(frame);
    this.confirm('delivered', frame.seq);
    for (const [who, typist] of this.typists) if (typist.who.id === frame.sender?.id) this.#hush(who);
    this.#changed('message', known ? undefined : frame);
  }

  #insert(entry) {
    if (entry.kind === Kind.hidden || this.ids.has(entry.id)) return;
    this.ids.set(entry.id, entry);
    let at = this.entries.length;
    while (at > 0 && this.entries[at - 1].seq > entry.seq) at -= 1;
    this.entries.splice(at, 0, entry);
  }

  #mark({ who, read, delivered }) {
    const known = this.marks.get(key(who)) ?? { who, read: 0, delivered: 0 };
    known.read = Math.max(known.read, read ?? 0);
    known.delivered = Math.max(known.delivered, delivered ?? 0);
    this.marks.set(key(who), known);
  }

  #typing({ who, active, preview = '' }) {
    this.#hush(key(who));
    if (active) {
      const timer = setTimeout(() => { this.#hush(key(who)); this.#changed('typing'); }, TYPING_MAX);
      this.typists.set(key(who), { who, preview, timer });
    }
    this.#changed('typing');
  }

  #hush(who) { clearTimeout(this.typists.get(who)?.timer); this.typists.delete(who); }

  #refused(frame) {
    if (frame.code === Fault.disconnected) return;
    this.ready = false;
    if (frame.retry) { setTimeout(() => this.open(), frame.retry_after_ms ?? 1000 + Math.random() * 2000); return; }
    this.lost = frame.code;
    this.#changed('lost');
  }

  #confirmNow() {
    this.#timer = 0;
    for (const what of /** @type {const} */ (['delivered', 'read'])) {
      if (!this.ready || this.#due[what] <= this.#sent[what]) continue;
      this.#sent[what] = this.#due[what];
      this.#link.tell({ type: Ask[what], session: this.session, seq: this.#due[what] });
      this.#timer = setTimeout(() => this.#confirmNow(), 1000);
    }
  }

  #forget() {
    this.entries = [];
    this.ids.clear();
    this.next = this.oldest = this.head = 0;
    this.epoch = '';
    this.#sent = { read: 0, delivered: 0 };
    this.#due = { read: 0, delivered: 0 };
  }
}

/** Something a person said, in contrast to an event line. */
const spoken = (entry) => entry.kind !== Kind.event && entry.kind !== Kind.note;
const key = (who) => `${who.kind}:${who.id}`;
/** The gateway takes 1,024 bytes; the end of the text is what an operator wants to see. */
const cut = (text) => (text.length > 250 ? `…${[...text].slice(-240).join('')}` : text);
