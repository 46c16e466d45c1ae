// The visitor's connection and outbox, and the conversation that is open.

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
 * After these errors only a new conversation takes the message.
 * @param {string=} code
 */
export const isOver = (code) => code === Fault.session_closed || code === Fault.no_such_session;

export class Session {
  /** @type {Person} */
  me = { kind: 'visitor', id: '' };
  /** @type {Conversation?} */
  talk = null;
  /** The error of the visitor's last action, in their language, or ''. */
  trouble = '';
  #visitor;
  #on;
  /** The previous conversation, which is closed or deleted: the next token is for a new one. */
  #over = '';

  /**
   * @param {{origin: string, prefix: string, visitor: import('./visitor.js').Visitor,
   *   config: () => Partial<WidgetConfig>, changed: () => void, opened: () => void,
   *   arrived: (entry: MessageFrame) => void}} on `prefix` begins the keys of this site's storage;
   *   `arrived` is called with each entry after the backlog
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
      route: (session) => this.#isHere(session) && this.talk?.route() || false,
    });
  }

  get isClosed() { return this.talk?.status === 'closed' || !!this.talk?.lost; }

  /** @param {string | null | undefined} session */
  #isHere(session) { return session === this.talk?.session; }

  /**
   * The session of an item. A conversation that is about to begin has no id yet.
   * @param {Item} item
   * @returns {string?}
   */
  #home({ session, not }) {
    if (session) return session;
    return this.talk && this.talk.session !== not ? this.talk.session : null;
  }

  /** @param {boolean} renew */
  #token(renew) {
    return this.#visitor.token(renew, this.#over);
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
        (type, entry) => this.#received(type, entry),
      );
    }
    // Nothing of the text before the settings are there.
    this.talk.typing.shows = () => this.#on.config().preview === true;
    this.talk.open();
    this.#on.opened();
  }

  /**
   * @param {string=} type of the frame
   * @param {MessageFrame | HiddenFrame=} entry that is new in the log
   */
  #received(type, entry) {
    const { talk, outbox } = this;
    if (!talk) return;
    if (type === Event.subscribed) outbox.run();
    if (talk.lost) return this.renew();
    if (entry?.id) {
      outbox.remove(entry.id, entry);
      if (talk.live) this.#on.arrived(entry);
    }
    if (type !== Event.typing) {
      this.#visitor.keep(talk.status !== 'closed' || outbox.items.length > 0);
    }
    this.#on.changed();
  }

  /**
   * Starts a new conversation. Messages that the old one refused become its first.
   */
  renew() {
    const { identity } = this.#visitor;
    const old = this.talk?.session ?? identity?.session;
    const items = this.outbox.items.filter((item) => (
      isOver(item.failed) || this.talk?.lost && item.session === old
    ));
    this.link.stop();
    this.#over = old ?? '';
    this.talk = null;
    for (const item of items) this.outbox.retry(item, { session: null, not: old });
    // another tab may have started one
    if (items.length || identity?.session !== old) this.link.start();
    this.#on.changed();
  }

  /**
   * Returns whether the outbox took it.
   * @param {string} text
   * @param {Payload=} payload
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

  /** Sends the identity and attributes of the page. */
  async introduce() {
    this.link.stop();
    await this.#visitor.token(true, '', true);
    this.link.start();
  }

  close() {
    this.link.stop();
    this.outbox.close();
  }
}
