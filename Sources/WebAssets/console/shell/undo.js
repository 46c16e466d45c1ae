// The offer to reopen a conversation that was just closed, or to restore one that was deleted, also
// from another view.

import { el } from '../../shared/dom.js';
import { t } from './language.js';

const TIME = 10_000; // ms; the gateway restores the place in the queue for a little longer

export class Undo {
  #words = el('p', {});
  /** @type {(() => void)?} */
  #act = null;
  #timer = 0;

  constructor() {
    this.root = el(
      'div.undo',
      { role: 'status', hidden: true },
      this.#words,
      el(
        'button.button.quiet',
        { type: 'button', click: () => this.run() },
        t('Undo'),
        el('kbd', {}, 'Z'),
      ),
    );
  }

  /**
   * @param {string} words
   * @param {() => void} act
   */
  offer(words, act) {
    this.#words.textContent = words;
    this.#act = act;
    this.root.hidden = false;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.drop(), TIME);
  }

  run() {
    const act = this.#act;
    this.drop();
    act?.();
  }

  drop() {
    clearTimeout(this.#timer);
    this.#act = null;
    this.root.hidden = true;
  }
}
