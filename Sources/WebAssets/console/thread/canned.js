// Canned replies: a slash in an empty reply lists them, what follows filters. Fields in two pairs
// of braces are filled with what is known; Tab goes to those that are not.

import { el, icon } from '../../shared/dom.js';
import { api } from '../shell/api.js';
import { marked, Autocomplete } from './autocomplete.js';

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

/** @extends {Autocomplete<Reply>} */
export class Canned extends Autocomplete {
  #on; #replies = /** @type {Reply[]} */ ([]); #asked = 0; #failed = '';
  #peek = el('div.peek');

  /**
   * @param {{pick: (text: string) => void, values: () => Record<string, string>,
   *   active: (list: string, option: string) => void, write: (shortcut: string) => void}} on
   */
  constructor(on) {
    super('canned', 'Canned replies', on.active);
    this.#on = on;
    this.root.append(this.#peek);
  }

  /** @param {string} text of the reply, whole */
  typed(text) {
    const found = /^\/(\S*)$/.exec(text);
    if (!found) return this.close();
    this.#load();
    this.open(found[1].toLowerCase());
  }

  take({ text }) { this.#on.pick(fill(text, this.#on.values())); }

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
        ? 'This server does not support canned replies.'
        : 'Canned replies could not be loaded.';
    }
    if (this.isOpen) this.draw();
  }

  draw() {
    const query = this.query ?? '';
    const rank = ({ shortcut, title }) => {
      const at = shortcut.toLowerCase().indexOf(query);
      if (at >= 0) return at;
      return title.toLowerCase().includes(query) ? 100 : -1;
    };
    const found = this.#replies.map((reply) => ({ reply, place: rank(reply) })).filter(
      ({ place }) => place >= 0
    ).sort(
      (a, b) => a.place - b.place || (a.reply.shortcut < b.reply.shortcut ? -1 : 1)
    ).slice(0, SHOWN).map(({ reply }) => reply);
    this.show(found, ({ shortcut, title }) => [
      el('code', {}, '/', ...marked(shortcut, shortcut.toLowerCase().indexOf(query), query.length)),
      el('span.truncate', { dir: 'auto' }, title),
    ]);
    this.#peek.replaceChildren(...this.#preview());
  }

  /** The chosen one as it would go out, its fields marked. */
  #preview() {
    const reply = this.shown[this.at];
    if (!reply) {
      if (this.#failed) return [el('p', { role: 'status' }, icon('alert', 'small'), this.#failed)];
      const query = this.query ?? '';
      return [
        el(
          'p',
          { role: 'status' },
          query
            ? `No canned reply matches /${query}. `
            : this.#asked ? 'No canned replies yet. ' : '',
          el(
            'button.link',
            { type: 'button', click: () => this.#on.write(query) },
            'Create one',
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
        [filled && `${fields(filled)} filled in.`, open && `${fields(open)} left to fill in.`].filter(
          Boolean
        ).join(' '),
        open ? ' ' : '',
        open ? el('kbd', {}, 'Tab') : '',
        open ? ' jumps to the next.' : '',
      ),
    ].filter(Boolean);
  }
}
