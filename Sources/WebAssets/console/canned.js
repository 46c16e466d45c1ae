// Canned replies: a slash in an empty reply lists them, what follows filters. The text field keeps
// the focus and drives the list (aria-activedescendant). Fields in two pairs of braces are filled
// with what is known; Tab goes to those that are not.

import { el, icon } from '../shared/dom.js';
import { api } from './api.js';

const SHOWN = 6;
const FRESH = 60_000; // ms for which the list counts as known
const FIELD = /\{\{\s*([\w.]+)\s*\}\}/g;

/** @typedef {{shortcut: string, title: string, text: string}} Reply */

/** Fields that are known are filled; the others stay as they are written. */
export function fill(text, values) {
  return text.replace(FIELD, (field, name) => values[name] || field);
}

/** Where the next open field after `from` stands, around the end. @returns {[number, number]?} */
export function nextField(text, from) {
  const all = [...text.matchAll(FIELD)];
  const found = all.find(({ index }) => index >= from) ?? all[0];
  return found ? [found.index, found.index + found[0].length] : null;
}

export class Canned {
  #on; #replies = /** @type {Reply[]} */ ([]); #at = 0; #shown = /** @type {Reply[]} */ ([]);
  #asked = 0; #failed = ''; #query = /** @type {string?} */ (null);
  #list = el('ul', { role: 'listbox', id: 'canned', 'aria-label': 'Canned replies' });
  #peek = el('div.peek');

  /**
   * @param {{pick: (text: string) => void, values: () => Record<string, string>,
   *   active: (id: string, open: boolean) => void, write: (shortcut: string) => void}} on
   */
  constructor(on) {
    this.#on = on;
    this.root = el('div.canned', { hidden: true }, this.#list, this.#peek);
    this.#list.addEventListener('pointerdown', (event) => {
      const item = /** @type {HTMLElement} */ (event.target).closest('li');
      if (!item) return;
      event.preventDefault(); // the field keeps the focus
      this.#at = Number(item.dataset.at);
      this.#choose();
    });
  }

  get isOpen() { return this.#query !== null; }

  /** @param {string} text of the reply, whole */
  typed(text) {
    const found = /^\/(\S*)$/.exec(text);
    if (!found) return this.close();
    this.#query = found[1].toLowerCase();
    this.#at = 0;
    this.#load();
    this.#draw();
  }

  close() {
    if (this.#query === null) return;
    this.#query = null;
    this.root.hidden = true;
    this.#on.active('', false);
  }

  /** Whether the key was ours. */
  key(event) {
    if (!this.isOpen) return false;
    const { length } = this.#shown;
    if (event.key === 'Escape') this.close();
    else if (event.key === 'ArrowDown' && length) this.#at = (this.#at + 1) % length;
    else if (event.key === 'ArrowUp' && length) this.#at = (this.#at + length - 1) % length;
    else if ((event.key === 'Enter' || event.key === 'Tab') && length && !event.shiftKey) {
      this.#choose();
    } else return false;
    event.preventDefault();
    event.stopPropagation();
    if (this.isOpen) this.#draw();
    return true;
  }

  #choose() {
    const reply = this.#shown[this.#at];
    if (!reply) return;
    this.close();
    this.#on.pick(fill(reply.text, this.#on.values()));
  }

  async #load() {
    if (Date.now() - this.#asked < FRESH) return;
    this.#asked = Date.now();
    try {
      const { reply_objects: all } = await api.replies();
      this.#replies = all.filter(({ object_type: type, shortcut, payload }) => (
        type === 'text' && shortcut && payload?.text
      )).map(({ shortcut, payload, alt_text: title }) => ({
        shortcut: shortcut.replace(/^\//, ''),
        title: title || payload.text,
        text: payload.text,
      }));
      this.#failed = '';
    } catch (error) {
      this.#asked = 0;
      this.#failed = error.status === 404
        ? 'This server has no canned replies.'
        : 'The canned replies could not be loaded.';
    }
    if (this.isOpen) this.#draw();
  }

  #draw() {
    const query = this.#query ?? '';
    const rank = ({ shortcut, title }) => {
      const at = shortcut.toLowerCase().indexOf(query);
      if (at >= 0) return at;
      return title.toLowerCase().includes(query) ? 100 : -1;
    };
    this.#shown = this.#replies.map((reply) => ({ reply, place: rank(reply) })).filter(
      ({ place }) => place >= 0
    ).sort(
      (a, b) => a.place - b.place || (a.reply.shortcut < b.reply.shortcut ? -1 : 1)
    ).slice(0, SHOWN).map(({ reply }) => reply);
    this.#at = Math.min(this.#at, Math.max(0, this.#shown.length - 1));
    this.#list.hidden = !this.#shown.length;
    this.#list.replaceChildren(...this.#shown.map((reply, at) => this.#item(reply, at, query)));
    this.#peek.replaceChildren(...this.#preview());
    this.root.hidden = false;
    this.#on.active(this.#shown.length ? `canned-${this.#at}` : '', true);
  }

  #item({ shortcut, title }, at, query) {
    const from = query ? shortcut.toLowerCase().indexOf(query) : -1;
    const name = from < 0
      ? ['/', shortcut]
      : [
        '/',
        shortcut.slice(0, from),
        el('mark', {}, shortcut.slice(from, from + query.length)),
        shortcut.slice(from + query.length),
      ];
    const on = at === this.#at;
    return el(
      'li',
      { role: 'option', id: `canned-${at}`, 'data-at': at, 'aria-selected': String(on) },
      el('code', {}, ...name),
      el('span.truncate', { dir: 'auto' }, title),
      on && el('kbd', {}, '⏎'),
    );
  }

  /** The chosen one as it would go out, its fields marked. */
  #preview() {
    const reply = this.#shown[this.#at];
    if (!reply) {
      if (this.#failed) return [el('p', { role: 'status' }, icon('alert', 'small'), this.#failed)];
      const query = this.#query ?? '';
      return [
        el(
          'p',
          { role: 'status' },
          query
            ? `No reply begins with /${query}. `
            : this.#asked ? 'There are no canned replies yet. ' : '',
          el(
            'button.link',
            { type: 'button', click: () => this.#on.write(query) },
            'Write one',
          ),
        ),
      ];
    }
    const values = this.#on.values();
    const parts = [];
    let end = 0;
    let open = 0;
    let filled = 0;
    for (const found of reply.text.matchAll(FIELD)) {
      parts.push(reply.text.slice(end, found.index));
      const value = values[found[1]];
      if (value) filled += 1; else open += 1;
      parts.push(el(`span.field-value${value ? '' : '.open'}`, {}, value || found[1]));
      end = found.index + found[0].length;
    }
    parts.push(reply.text.slice(end));
    const fields = (count) => `${count} ${count === 1 ? 'field' : 'fields'}`;
    return [
      el('p', { dir: 'auto' }, ...parts),
      (filled || open) && el(
        'p.meta',
        {},
        [filled && `${fields(filled)} filled.`, open && `${fields(open)} to fill:`].filter(
          Boolean
        ).join(' '),
        open ? ' ' : '',
        open ? el('kbd', {}, 'Tab') : '',
        open ? ' goes to the next.' : '',
      ),
    ].filter(Boolean);
  }
}
