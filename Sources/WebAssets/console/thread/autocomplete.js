// A list of completions for the word before the caret. The text field keeps the focus and controls
// the list (aria-activedescendant): arrows select, Enter and Tab take, Escape closes.

import { el } from '../../shared/dom.js';
import { targetOf } from '../shell/element.js';

/**
 * A subclass shows the matches of `query` in `draw`, and uses the selected one in `take`.
 * @template T
 */
export class Autocomplete {
  /**
   * Null while closed.
   * @type {string?}
   */
  query = null;
  /** The index of the selected option. */
  at = 0;
  /** @type {T[]} */
  shown = [];
  #active;

  /**
   * @param {string} id of the list
   * @param {string} label
   * @param {(list: string, option: string) => void} active is called with the ids of the list and
   *   its selected option, '' for none
   */
  constructor(id, label, active) {
    this.#active = active;
    this.list = el('ul', { role: 'listbox', id, 'aria-label': label });
    this.root = el(`div.offers.${id}`, { hidden: true }, this.list);
    this.list.addEventListener('pointerdown', (event) => {
      const item = targetOf(event)?.closest('li');
      if (!item) return;
      event.preventDefault(); // the field keeps the focus
      this.at = Number(item.dataset.at);
      this.#choose();
    });
  }

  /** Shows the matches of the query. */
  draw() {}

  /** @param {T} _chosen */
  take(_chosen) {}

  get isOpen() { return this.query !== null; }

  /** @param {string} query */
  open(query) {
    this.query = query;
    this.at = 0;
    this.draw();
  }

  close() {
    if (!this.isOpen) return;
    this.query = null;
    this.root.hidden = true;
    this.#active('', '');
  }

  /**
   * Handles a key of the field; returns whether it was one of the list's.
   * @param {KeyboardEvent} event
   */
  key(event) {
    if (!this.isOpen) return false;
    const { length } = this.shown;
    if (event.key === 'Escape') this.close();
    else if (event.key === 'ArrowDown' && length) this.at = (this.at + 1) % length;
    else if (event.key === 'ArrowUp' && length) this.at = (this.at + length - 1) % length;
    else if ((event.key === 'Enter' || event.key === 'Tab') && length && !event.shiftKey) {
      this.#choose();
    } else return false;
    event.preventDefault();
    event.stopPropagation();
    if (this.isOpen) this.draw();
    return true;
  }

  #choose() {
    const chosen = this.shown[this.at];
    if (!chosen) return;
    this.close();
    this.take(chosen);
  }

  /**
   * @param {T[]} shown
   * @param {(option: T) => (Element | string)[]} words of an option
   */
  show(shown, words) {
    const { id } = this.list;
    this.shown = shown;
    this.at = Math.min(this.at, Math.max(0, shown.length - 1));
    this.list.hidden = !shown.length;
    this.list.replaceChildren(...shown.map((option, at) => el(
      'li',
      {
        role: 'option',
        id: `${id}-${at}`,
        'data-at': at,
        'aria-selected': String(at === this.at),
      },
      ...words(option),
      at === this.at && el('kbd', {}, '⏎'),
    )));
    this.root.hidden = false;
    this.#active(id, shown.length ? `${id}-${this.at}` : '');
  }
}

/**
 * A text with a part of it marked.
 * @param {string} text
 * @param {number} from -1 for none
 * @param {number} length
 * @returns {(Element | string)[]}
 */
export const marked = (text, from, length) => from < 0 || !length
  ? [text]
  : [
    text.slice(0, from),
    el('mark', {}, text.slice(from, from + length)),
    text.slice(from + length),
  ];
