// What the visitors of the listed conversations do: they type, have left the page, or do not look
// at the chat.
// The gateway sends typing and presence to subscribers alone, so this subscribes to the open
// conversations in view; the pane has subscribed to the one that is open.
// Invariant: `#followed` has exactly the conversations that are subscribed here.

import { Command, Event } from '../../shared/protocol.js';
import { Typing } from '../../shared/typing.js';
import { channelOf } from '../shell/channels.js';
import { t } from '../shell/language.js';

const FOLLOWED_MAX = 32; // conversations; a connection may have 256 subscriptions
const SETTLE = 500; // ms between two changes, so that scrolling does not subscribe to each row
const UNSEEN = 60_000; // ms for which a visitor who looks at the chat has read a message

/** @typedef {import('./inbox.js').Row} Row */

/**
 * What a visitor does, in words; '' if they are there, or if nothing is known.
 * @param {Row | ConversationRow | null | undefined} row
 * @param {boolean?} online whether the visitor has the page open
 */
export function doing(row, online) {
  // nobody tells what people do on another platform
  if (!row || row.status === 'closed' || online === null || channelOf(row)) return '';
  if (!online) return t('left the page');
  const { last_message: last, visitor_read_seq: read, last_seq: head } = row;
  // who looks at the chat has read it up to its end
  const isUnread = last?.role === 'operator' && read < head;
  return isUnread && Date.now() - Date.parse(last.at) > UNSEEN ? t('away') : '';
}

export class Activity {
  /** @type {Map<string, Typing>} */
  #followed = new Map();
  #timer = 0;
  #on;

  /**
   * @param {{link: import('../../shared/socket.js').Link,
   *   presence: import('./presence.js').Presence, rows: () => Row[], current: () => string,
   *   changed: () => void}} on `rows` are those in view, `current` is the open conversation
   */
  constructor(on) { this.#on = on; }

  /** The rows in view, or the open conversation, may have changed. */
  touch() { this.#timer ||= setTimeout(() => { this.#timer = 0; this.#follow(); }, SETTLE); }

  /** A new connection begins without subscriptions. */
  renewed() { this.#followed.clear(); this.touch(); }

  end() { clearTimeout(this.#timer); }

  #follow() {
    const { link, presence, rows, current } = this.#on;
    if (link.state !== 'open') return;
    const open = current();
    const wanted = new Map(rows().filter(({ id, status }) => id !== open && status !== 'closed')
      .slice(0, FOLLOWED_MAX).map((row) => [row.id, row]));
    for (const session of this.#followed.keys()) {
      if (wanted.has(session)) continue;
      this.#followed.delete(session);
      // the pane has taken its subscription over
      if (session === open) continue;
      presence.forget(session);
      link.request({ type: Command.unsubscribe, session });
    }
    for (const [session, { last_seq: after }] of wanted) {
      if (this.#followed.has(session)) continue;
      this.#followed.set(session, new Typing(() => false, this.#on.changed));
      link.request({ type: Command.subscribe, session, after }, ({ type }) => {
        if (type === Event.error) this.#followed.delete(session);
      });
      link.send({ type: Command.viewing, session, active: false });
    }
  }

  /** @param {ServerFrame} frame of a conversation that is not open */
  receive(frame) {
    const typing = this.#followed.get(frame.session ?? '');
    if (!typing) return;
    if (frame.type === Event.typing && frame.who.kind === 'visitor') typing.receive(frame);
    else if (frame.type === Event.message && frame.sender) typing.stop(frame.sender);
    else if (frame.type === Event.unsubscribed) this.#followed.delete(frame.session);
  }

  /**
   * The text that the visitor is typing.
   * @param {string} id
   */
  typing(id) {
    const [typist] = this.#followed.get(id)?.others.values() ?? [];
    return typist ? typist.preview || '…' : '';
  }
}
