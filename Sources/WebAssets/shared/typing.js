// Typing indicators of one session. Ours are throttled; one of another participant ends when they
// send, stop, or report nothing for a while.

import { Command } from './protocol.js';

const TYPING_EVERY = 700; // ms between two frames of ours
const TYPING_IDLE = 4000; // ms after the last key until we report that we stopped
const TYPING_MAX = 8000; // ms; an indicator ends if no other frame follows
const PREVIEW_MAX = 240; // characters; the gateway takes 1,024 bytes

export class Typing {
  /** @type {Map<string, {who: Person, preview: string, timer: number}>} */
  others = new Map();
  /** Whether operators may see the text before it is sent. */
  shows = () => true;
  #send;
  #changed;
  #text = '';
  #sent = '';
  #pause = 0;
  #idle = 0;

  /**
   * @param {(signal: Signal) => boolean} send returns false while nothing can be sent
   * @param {() => void} changed
   */
  constructor(send, changed) {
    this.#send = send;
    this.#changed = changed;
  }

  /**
   * The last frame always has the latest text.
   * @param {string} text '' when nothing is being typed
   */
  type(text) {
    if (text === this.#text) return;
    this.#text = text;
    clearTimeout(this.#idle);
    if (text) this.#idle = setTimeout(() => this.type(''), TYPING_IDLE);
    else { clearTimeout(this.#pause); this.#pause = 0; }
    if (!this.#pause) this.#flush();
  }

  /** @param {TypingFrame} frame */
  receive({ who, active, preview = '' }) {
    this.stop(who);
    const expire = () => { this.stop(who); this.#changed(); };
    if (active) this.others.set(who.id, { who, preview, timer: setTimeout(expire, TYPING_MAX) });
    this.#changed();
  }

  /**
   * A message of this participant has arrived, or they stopped.
   * @param {Sender} who
   */
  stop({ id }) {
    if (!id) return;
    clearTimeout(this.others.get(id)?.timer);
    this.others.delete(id);
  }

  #flush() {
    const text = this.#text;
    const preview = this.shows() && text ? cut(text) : undefined;
    this.#pause = 0;
    if (text === this.#sent) return;
    if (this.#send({ type: Command.typing, active: !!text, preview })) this.#sent = text;
    if (text) this.#pause = setTimeout(() => this.#flush(), TYPING_EVERY);
  }
}

/**
 * The end of a text: an operator wants to see the latest words.
 * @param {string} text
 */
const cut = (text) => [...text].slice(-PREVIEW_MAX).join('');
