// For ten seconds what was closed can be opened again, from wherever one is by then.

import { el } from '../../shared/dom.js';

const TIME = 10_000; // ms; the gateway gives the place in the line back for somewhat longer

export class Undo {
  #words = el('p', {});
  #act = /** @type {(() => void)?} */ (null);
  #timer;

  constructor() {
    this.root = el(
      'div.undo',
      { role: 'status', hidden: true },
      this.#words,
      el(
        'button.button.quiet',
        { type: 'button', click: () => this.run() },
        'Undo',
        el('kbd', {}, 'Z'),
      ),
    );
  }

  /** @param {string} words @param {() => void} act */
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
