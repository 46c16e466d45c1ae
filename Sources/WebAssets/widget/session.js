// The visitor's side of a conversation: its token, the link, the outbox, and the conversation that
// is open.

import { Conversation } from '../shared/conversation.js';
import { Outbox } from '../shared/outbox.js';
import { Event, Fault, Kind } from '../shared/protocol.js';
import { Link } from '../shared/socket.js';
import { say } from './words.js';

/** @typedef {import('../shared/outbox.js').Item} Item */
/** @typedef {import('./words.js').Word} Word */

/** @type {Record<string, Word>} */
export const CAUSES = {
  [Fault.too_large]: 'too_large',
  [Fault.rejected]: 'rejected',
  full: 'full',
};

/**
 * Another conversation would take it.
 * @param {string=} code
 */
export const isOver = (code) => code === Fault.session_closed || code === Fault.no_such_session;

export class Session {
  /** @type {Person} */
  me = { kind: 'visitor', id: '' };
  /** @type {Conversation?} */
  talk = null;
  /** What went wrong with the last thing that the visitor did. */
  trouble = '';
  #visitor;
  #on;
  /** The next token is for a new conversation. */
  #isFresh = false;
  /** The conversation that is over. */
  #over = '';

  /**
   * @param {{origin: string, prefix: string, visitor: import('./visitor.js').Visitor,
   *   config: () => any, changed: () => void, arrived: (entry: Entry) => void}} on `prefix` begins
   *   the names under which this site keeps something; `arrived` gets what is new in the log
   */
  constructor(on) {
    const { origin, prefix, visitor, changed } = on;
    this.#visitor = visitor;
    this.#on = on;
    this.link = new Link({
      origin,
      client: 'widget',
      token: (renew) => this.#token(renew),
      opened: ({ you }) => this.#opened(you),
      changed,
      frame: (frame) => { if (this.#isHere(frame.session)) this.talk?.frame(frame); },
    });
    this.outbox = new Outbox(`${prefix}out:`, {
      changed,
      acked: (item, ack) => { if (this.#isHere(item.session)) this.talk?.commit(item, ack); },
      home: (item) => this.#home(item),
      route: (session) => this.#isHere(session) && this.talk?.route() || null,
    });
  }

  get isClosed() { return this.talk?.status === 'closed' || !!this.talk?.lost; }

  /** @param {string | null | undefined} session */
  #isHere(session) { return session === this.talk?.session; }

  /**
   * A conversation that is about to begin has no name yet.
   * @param {Item} item
   */
  #home({ session, not }) {
    if (session) return session;
    return this.talk && this.talk.session !== not ? this.talk.session : null;
  }

  /** @param {boolean} renew */
  async #token(renew) {
    const token = await this.#visitor.token(renew, this.#isFresh);
    this.#isFresh = false;
    return token;
  }

  /** @param {Person} you */
  #opened(you) {
    const session = this.#visitor.identity?.session ?? '';
    this.me = you;
    if (!this.talk || this.talk.session !== session) {
      this.talk = new Conversation(
        this.link,
        session,
        you,
        (what, entry) => this.#heard(what, entry),
      );
    }
    this.talk.typing.preview = this.#on.config().preview !== false;
    this.talk.open();
  }

  /** @param {string=} what @param {Entry=} entry */
  #heard(what, entry) {
    const { talk, outbox } = this;
    if (!talk) return;
    if (what === Event.subscribed) outbox.run();
    if (talk.lost) outbox.refuse(talk.lost, ({ session }) => session === talk.session);
    if (entry) {
      outbox.remove(entry.id, entry);
      // an operators' note comes without any sender
      if (entry.sender && talk.live) this.#on.arrived(entry);
    }
    if (what !== Event.typing) {
      this.#visitor.keep(talk.status !== 'closed' || outbox.items.length > 0);
    }
    this.#on.changed();
  }

  /**
   * A new conversation, with what could not be said in the old one. It begins with its first
   * message.
   */
  renew() {
    const { identity } = this.#visitor;
    const old = this.talk?.session ?? identity?.session;
    const items = this.outbox.items.filter((item) => isOver(item.failed));
    this.link.stop();
    this.#isFresh = identity?.session === old; // or another tab has begun it
    this.#over = old ?? '';
    this.talk = null;
    for (const item of items) this.outbox.retry(item, { session: null, not: old });
    if (items.length || !this.#isFresh) this.link.start();
    this.#on.changed();
  }

  /**
   * Whether the outbox took it.
   * @param {string} text
   * @param {any=} payload
   */
  send(text, payload) {
    const session = this.talk?.session ?? null;
    const cause = this.outbox.add(session, text, Kind.text, this.#over || undefined, payload);
    this.trouble = cause && say(CAUSES[cause]);
    this.#on.changed();
    if (cause) return false;
    this.talk?.typing.type('');
    this.#visitor.keep(true);
    this.link.start();
    return true;
  }

  /** Says who the visitor is with a new token; the first one does that anyway. */
  async introduce() {
    if (!this.#visitor.identity?.token) return;
    this.link.stop();
    await this.#visitor.token(true, false, true);
    this.link.start();
  }

  close() {
    this.link.stop();
    this.outbox.close();
  }
}
