// What an operator is asked before something happens: a sheet between thread and composer. It pushes
// the thread up and covers nothing; one at a time; Escape puts it away, and the focus goes back.

import { el } from '../../shared/dom.js';

export class Sheet {
  #back = /** @type {HTMLElement?} */ (null);
  #name = '';

  constructor() {
    this.root = el('div.sheet', {
      hidden: true,
      keydown: (event) => {
        if (event.key !== 'Escape' || event.defaultPrevented) return;
        event.preventDefault();
        event.stopPropagation();
        this.close();
      },
    });
  }

  get isOpen() { return !this.root.hidden; }
  is(name) { return this.isOpen && this.#name === name; }

  /**
   * @param {string} name also how it is called aloud
   * @param {Element[]} parts
   * @param {(event: Event) => void} submit
   */
  open(name, parts, submit) {
    if (!this.isOpen) this.#back = /** @type {any} */ (document.activeElement);
    this.#name = name;
    const form = el(
      'form',
      { 'aria-label': name, submit: (event) => { event.preventDefault(); submit(event); } },
      el('h3', {}, name),
      ...parts,
    );
    this.root.replaceChildren(form);
    this.root.hidden = false;
    /** @type {HTMLElement?} */ (
      form.querySelector('[autofocus]') ?? form.querySelector('input, textarea, button')
    )?.focus();
  }

  close() {
    if (!this.isOpen) return;
    const had = this.root.contains(document.activeElement);
    this.root.hidden = true;
    this.root.replaceChildren();
    if (had && this.#back?.isConnected) this.#back.focus();
    this.#back = null;
  }
}

/** Save and cancel, as in every sheet. */
export const ways = (words, cancel) => el(
  'div.ways',
  {},
  el('button.button.primary', { type: 'submit' }, words),
  el('button.button.quiet', { type: 'button', click: cancel }, 'Cancel', el('kbd', {}, 'Esc')),
);
