// Export and erasure of a visitor's data (GDPR articles 15 and 17), for those whose role allows it.
// Erasure asks for a confirmation that says what is erased: it cannot be undone.

import { el } from '../../shared/dom.js';
import { api, exportAddress, reasonOf } from '../shell/api.js';

/** @typedef {import('./visitor-panel.js').Visitor} Visitor */

export class VisitorData {
  #on;
  #isAsking = false;
  #isErasing = false;
  #trouble = '';

  /**
   * @param {{changed: () => void, erased: (visitor: string) => void, mayErase: () => boolean}} on
   */
  constructor(on) { this.#on = on; }

  /** Another visitor is shown. */
  reset() {
    this.#isAsking = false;
    this.#isErasing = false;
    this.#trouble = '';
  }

  /** What the section shows, as a value to compare. */
  get state() { return [this.#isAsking, this.#isErasing, this.#trouble, this.#on.mayErase()]; }

  /** @param {Visitor} visitor with the profile */
  section({ id, name, conversations: count = 0 }) {
    if (!id || !this.#on.mayErase()) return null;
    const words = count === 1 ? 'one conversation' : `${count} conversations`;
    return el(
      'section.data',
      {},
      el('h3', {}, 'Personal data'),
      this.#trouble && el('p.ask', { role: 'alert' }, this.#trouble),
      this.#isAsking && el('p.ask', { id: 'erasure' }, `Erase all data of ${name || 'this visitor'}? `
        + `The texts and notes of ${words}, and of deleted ones, the comments of ratings, and the `
        + 'profile are erased for good. The visitor is disconnected.'),
      el('div.ways', {}, ...this.#isAsking
        ? [
          this.#button('Erase for good', '.danger', () => { void this.#erase(id); }),
          this.#button('Cancel', '.quiet', () => this.#ask(false)),
        ]
        : [
          el('a.button', { href: exportAddress(id), download: `visitor-${id}.json` }, 'Download'),
          this.#button('Erase…', '.quiet', () => this.#ask(true)),
        ]),
    );
  }

  /**
   * @param {string} words
   * @param {string} kind classes
   * @param {() => void} click
   */
  #button(words, kind, click) {
    return el(
      `button.button${kind}`,
      {
        type: 'button',
        'data-key': 'erase',
        disabled: this.#isErasing,
        'aria-describedby': this.#isAsking ? 'erasure' : null,
        click,
      },
      words,
    );
  }

  /** @param {boolean} yes */
  #ask(yes) {
    this.#isAsking = yes;
    this.#trouble = '';
    this.#on.changed();
  }

  /** @param {string} visitor */
  async #erase(visitor) {
    this.#isErasing = true;
    this.#trouble = '';
    this.#on.changed();
    try {
      await api.erase(visitor);
      this.reset();
      this.#on.erased(visitor);
    } catch (error) {
      // An erasure that was interrupted is repeated from the beginning.
      this.reset();
      this.#trouble = reasonOf(error, 'The server is not responding. Erase once more.');
      this.#on.changed();
    }
  }
}
