// Who types in one session: what we tell, throttled, and what others tell, until they send, stop or
// fall silent.

import { Command } from './protocol.js';

const TYPING_EVERY = 700; // ms between two frames of ours
const TYPING_IDLE = 4000; // and how long after the last key somebody still types
const TYPING_MAX = 8000; // a typist who left without saying so

export class Typing {
  /** @type {Map<string, {who: Person, preview: string, timer: number}>} */
  others = new Map();
  /** Whether what is being written may be seen. */
  preview = true;
  #tell;
  #changed;
  #text = '';
  #told = '';
  #pause = 0;
  #idle = 0;

  /** @param {(frame: any) => boolean} tell @param {() => void} changed */
  constructor(tell, changed) {
    this.#tell = tell;
    this.#changed = changed;
  }

  /**
   * Always ends with the latest text.
   * @param {string} text '' says that nobody types
   */
  type(text) {
    if (text === this.#text) return;
    this.#text = text;
    clearTimeout(this.#idle);
    if (text) this.#idle = setTimeout(() => this.type(''), TYPING_IDLE);
    else { clearTimeout(this.#pause); this.#pause = 0; }
    if (!this.#pause) this.#flush();
  }

  /** @param {{who: Person, active: boolean, preview?: string}} of */
  heard({ who, active, preview = '' }) {
    this.hush(who);
    const over = () => { this.hush(who); this.#changed(); };
    if (active) this.others.set(who.id, { who, preview, timer: setTimeout(over, TYPING_MAX) });
    this.#changed();
  }

  /** @param {Person} who */
  hush(who) { clearTimeout(this.others.get(who?.id)?.timer); this.others.delete(who?.id); }

  #flush() {
    const text = this.#text;
    const preview = this.preview && text ? cut(text) : undefined;
    this.#pause = 0;
    if (text === this.#told) return;
    if (this.#tell({ type: Command.typing, active: !!text, preview })) this.#told = text;
    if (text) this.#pause = setTimeout(() => this.#flush(), TYPING_EVERY);
  }
}

/**
 * The gateway takes 1,024 bytes; the end of the text is what an operator wants to see.
 * @param {string} text
 */
const cut = (text) => [...text].slice(-240).join('');
