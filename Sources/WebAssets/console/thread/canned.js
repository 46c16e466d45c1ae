// Canned replies and macros: a slash in an empty reply lists them, and the text after it filters.
// Fields in double braces are filled with known values; Tab selects the next one without a value. A
// macro runs at once.

import { el, icon } from '../../shared/dom.js';
import { api, statusOf } from '../shell/api.js';
import { pieces, t } from '../shell/language.js';
import { marked, Autocomplete } from './autocomplete.js';
import { gist } from './macros.js';

const SHOWN = 6;
const FRESH = 60_000; // ms for which the list is not loaded again
const FIELD = /\{\{\s*([\w.]+)\s*\}\}/g;

/** @typedef {{shortcut: string, title: string, text: string, macro?: Macro}} Reply */
/** @typedef {Record<string, string>} Values of fields by name, '' if not known */

/**
 * Fills the fields that have a value.
 * @param {string} text
 * @param {Values} values
 */
export function fill(text, values) {
  return text.replace(FIELD, (field, name) => values[name] || field);
}

/**
 * The start and the end of the next field from `from` on, or of the first.
 * @param {string} text
 * @param {number} from
 * @returns {[number, number]?}
 */
export function nextField(text, from) {
  const all = [...text.matchAll(FIELD)].map(({ index = 0, 0: { length } }) => ({ index, length }));
  const found = all.find(({ index }) => index >= from) ?? all[0];
  return found ? [found.index, found.index + found.length] : null;
}

/** @extends {Autocomplete<Reply>} */
export class Canned extends Autocomplete {
  #on;
  /** @type {Reply[]} */
  #replies = [];
  /** When the list was loaded, in ms of Date.now(); 0 before and after a failure. */
  #loadedAt = 0;
  #failed = '';
  #preview = el('div.peek');

  /**
   * @param {{pick: (text: string) => void, values: () => Values,
   *   active: (list: string, option: string) => void, write: (shortcut: string) => void,
   *   run: (macro: Macro) => void}} on
   *   `write` opens the page where canned replies are written
   */
  constructor(on) {
    super('canned', t('Canned replies'), on.active);
    this.#on = on;
    this.root.append(this.#preview);
  }

  /** @param {string} text of the whole reply */
  typed(text) {
    const found = /^\/(\S*)$/.exec(text);
    if (!found) return this.close();
    this.#load();
    this.open(found[1].toLowerCase());
  }

  /** @param {Reply} reply */
  take({ text, macro }) {
    if (macro) this.#on.run(macro); else this.#on.pick(fill(text, this.#on.values()));
  }

  async #load() {
    if (Date.now() - this.#loadedAt < FRESH) return;
    this.#loadedAt = Date.now();
    try {
      const [replies, macros] = await Promise.all([api.replies(), this.#macros()]);
      this.#replies = replies.flatMap(
        ({ object_type: type, shortcut, payload, alt_text: title }) => {
          const text = payload?.text;
          if (type !== 'text' || !shortcut || !text) return [];
          return [{ shortcut: shortcut.replace(/^\//, ''), title: title || text, text }];
        },
      );
      this.#replies.push(...macros.map((macro) => ({
        shortcut: macro.name.replace(/\s+/g, '-'), title: gist(macro.actions), text: '', macro,
      })));
      this.#failed = '';
    } catch (error) {
      this.#loadedAt = 0;
      this.#failed = statusOf(error) === 404
        ? t('This server does not support canned replies.')
        : t('Canned replies could not be loaded.');
    }
    if (this.isOpen) this.draw();
  }

  /** None, if they could not be loaded: the replies are there without them. */
  async #macros() {
    try { return await api.macros(); } catch { return []; }
  }

  draw() {
    const query = this.query ?? '';
    /** @param {Reply} reply */
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
    this.show(found, ({ shortcut, title, macro }) => [
      el('code', {}, '/', ...marked(shortcut, shortcut.toLowerCase().indexOf(query), query.length)),
      el('span.truncate', { dir: 'auto' }, macro && icon('bolt', 'small'), title),
    ]);
    this.#preview.replaceChildren(...this.#selected());
  }

  /** The selected reply as it would be sent, with its fields marked. */
  #selected() {
    const reply = this.shown[this.at];
    if (!reply) {
      if (this.#failed) return [el('p', { role: 'status' }, icon('alert', 'small'), this.#failed)];
      const query = this.query ?? '';
      return [
        el(
          'p',
          { role: 'status' },
          query
            ? `${t('No canned reply matches {}.', `/${query}`)} `
            : this.#loadedAt ? `${t('No canned replies yet.')} ` : '',
          el(
            'button.link',
            { type: 'button', click: () => this.#on.write(query) },
            t('Create one'),
          ),
        ),
      ];
    }
    if (reply.macro) return [el('p', { dir: 'auto' }, t('Runs “{1}”: {2}', reply.macro.name, reply.title))];
    const values = this.#on.values();
    let open = 0;
    let filled = 0;
    // of the pieces of a split, each second one is the name of a field
    const parts = reply.text.split(FIELD).map((piece, index) => {
      if (index % 2 === 0) return piece;
      const value = values[piece];
      if (value) filled += 1; else open += 1;
      return el(`span.field-value${value ? '' : '.open'}`, {}, value || piece);
    });
    return [
      el('p', { dir: 'auto' }, ...parts),
      filled + open > 0 && el(
        'p.meta',
        {},
        [filled === 1 ? t('1 field filled in.') : filled && t('{} fields filled in.', filled),
          open === 1 ? t('1 field left to fill in.') : open && t('{} fields left to fill in.', open)]
          .filter(Boolean).join(' '),
        ...open ? [' ', ...pieces('{} jumps to the next.', el('kbd', {}, 'Tab'))] : [],
      ),
    ].filter(Boolean);
  }
}
