// A form between thread and composer that an action opens (transfer, close, tags). It pushes the
// thread up. There is one at a time; Escape closes it and the focus returns.

import { el } from '../../shared/dom.js';
import { focusOn } from '../shell/element.js';
import { t } from '../shell/language.js';

export class Sheet {
  /**
   * The element that had the focus before.
   * @type {Element?}
   */
  #from = null;
  #name = '';

  #orElse;

  /** @param {() => void} orElse moves the focus when the element that had it before is gone */
  constructor(orElse = () => {}) {
    this.#orElse = orElse;
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
  /** @param {string} name */
  is(name) { return this.isOpen && this.#name === name; }

  /**
   * @param {string} name also its heading
   * @param {Element[]} parts
   * @param {(event: Event) => void} submit
   */
  open(name, parts, submit) {
    if (!this.isOpen) this.#from = document.activeElement;
    this.#name = name;
    const form = el(
      'form',
      { 'aria-label': name, submit: (event) => { event.preventDefault(); submit(event); } },
      el('h2', {}, name),
      ...parts,
    );
    this.root.replaceChildren(form);
    this.root.hidden = false;
    focusOn(form.querySelector('[autofocus]')
      ?? form.querySelector('input, textarea, button:not(:disabled)'));
  }

  close() {
    if (!this.isOpen) return;
    const hadFocus = this.root.contains(document.activeElement);
    this.root.hidden = true;
    this.root.replaceChildren();
    const from = this.#from;
    this.#from = null;
    if (!hadFocus || !from) return;
    // a row of the list may have been drawn anew, or have left
    const id = from.getAttribute('data-id');
    const back = from.isConnected ? from : id && document.querySelector(`a[data-id="${id}"]`);
    if (back) focusOn(back);
    else this.#orElse();
  }
}

/**
 * The buttons of a sheet.
 * @param {string} words of the submit button
 * @param {() => void} cancel
 */
export const buttons = (words, cancel) => el(
  'div.ways',
  {},
  el('button.button.primary', { type: 'submit' }, words),
  el('button.button.quiet', { type: 'button', click: cancel }, t('Cancel'), el('kbd', {}, 'Esc')),
);
