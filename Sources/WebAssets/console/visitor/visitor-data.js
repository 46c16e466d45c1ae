// Export and erasure of a visitor's data (GDPR articles 15 and 17), for those whose role allows it.
// Erasure asks for a confirmation that says what is erased: it cannot be undone.

import { el } from '../../shared/dom.js';
import { api, exportAddress, reasonOf } from '../shell/api.js';
import { t } from '../shell/language.js';

/** @typedef {import('./visitor-panel.js').Visitor} Visitor */

/**
 * @param {string | undefined} name
 * @param {number} count of conversations
 */
const question = (name, count) => [
  name ? t('Erase all data of {}?', name) : t('Erase all data of this visitor?'),
  count === 1
    ? t('The texts and notes of one conversation, and of deleted ones, the comments of ratings, and the profile are erased for good. The visitor is disconnected.')
    : t('The texts and notes of {} conversations, and of deleted ones, the comments of ratings, and the profile are erased for good. The visitor is disconnected.', count),
].join(' ');

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
    return el(
      'section.data',
      {},
      el('h3', {}, t('Personal data')),
      this.#trouble && el('p.ask', { role: 'alert' }, this.#trouble),
      this.#isAsking && el('p.ask', { id: 'erasure' }, question(name, count)),
      el('div.ways', {}, ...this.#isAsking
        ? [
          this.#button(t('Erase for good'), '.danger', () => { void this.#erase(id); }),
          this.#button(t('Cancel'), '.quiet', () => this.#ask(false)),
        ]
        : [
          el('a.button', { href: exportAddress(id), download: `visitor-${id}.json` }, t('Download')),
          this.#button(t('Erase…'), '.quiet', () => this.#ask(true)),
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
      this.#trouble = reasonOf(error, t('The server is not responding. Erase once more.'));
      this.#on.changed();
    }
  }
}
