// Emoji for the composer: a picker with those that were used last before all others, and names
// offered after a colon.

import { el } from '../../shared/dom.js';
import { store } from '../../shared/store.js';
import { find, kinds, known, plain } from './emoji-list.js';
import { marked, Autocomplete } from './autocomplete.js';

const LAST = 'chirrup:console:emoji'; // used last on this device, the latest first
const KEPT = 8;
const SHOWN = 6;

/** Ctrl and the full stop, wherever that is on the keyboard. */
export const isEmojiKey = (event) => (
  event.key === '.' && (event.ctrlKey || event.metaKey) && !event.altKey
);

/** @returns {import('./emoji-list.js').Emoji[]} */
function last() {
  const kept = store.get(LAST);
  return (Array.isArray(kept) ? kept : []).map((it) => known.get(it)).filter(Boolean).slice(
    0,
    KEPT,
  );
}

function used(emoji) {
  const others = last().map((it) => it.emoji).filter((it) => it !== emoji);
  store.set(LAST, [emoji, ...others].slice(0, KEPT));
}

export class EmojiPicker {
  #on; #from = /** @type {HTMLElement?} */ (null);

  /**
   * @param {{pick: (emoji: string) => void, focus: () => void, open: (open: boolean) => void}} on
   */
  constructor(on) {
    this.#on = on;
    this.field = el('input.input', {
      type: 'search',
      'aria-label': 'Search emoji by name',
      placeholder: 'Search by name',
      autocomplete: 'off',
      input: () => this.#draw(),
    });
    this.told = el('span.meta', { role: 'status' });
    this.list = el('div.emoji-kinds');
    this.root = el(
      'div.emoji',
      {
        role: 'dialog',
        'aria-label': 'Emoji',
        hidden: true,
        keydown: (event) => this.#key(event),
      },
      el('div.emoji-find', {}, this.field, this.told),
      this.list,
    );
  }

  get isOpen() { return !this.root.hidden; }

  /** A field that has the focus brings up the keyboard of a phone, over what one looks for. */
  open() {
    this.#from = /** @type {HTMLElement?} */ (document.activeElement);
    this.field.value = '';
    this.root.hidden = false;
    this.#draw();
    this.list.scrollTop = 0;
    this.#on.open(true);
    if (matchMedia('(pointer: coarse)').matches) this.#go(this.#buttons[0]);
    else this.field.focus();
  }

  /** The focus goes back to where it came from, if it is here. */
  close() {
    if (!this.isOpen) return;
    const here = this.root.contains(document.activeElement);
    this.root.hidden = true;
    this.#on.open(false);
    if (!here) return;
    if (this.#from?.matches('button')) this.#from.focus();
    else this.#on.focus();
  }

  get #buttons() { return [...this.list.querySelectorAll('button')]; }

  #draw() {
    const query = this.field.value.trim();
    const found = query && find(query);
    const shown = found
      ? [{ name: 'Found', all: found }]
      : [{ name: 'Recently used', all: last() }, ...kinds];
    this.list.replaceChildren(...shown.filter(({ all }) => all.length).map(({ name, all }) => el(
      'section',
      { role: 'group', 'aria-label': name },
      el('span.meta', { 'aria-hidden': 'true' }, name),
      el('div', {}, ...all.map((it) => this.#button(it))),
    )));
    this.#buttons[0]?.setAttribute('tabindex', '0');
    this.told.textContent = found ? `${found.length || 'None'} found` : '';
  }

  #button({ emoji, name }) {
    return el(
      'button',
      {
        type: 'button',
        tabindex: -1,
        'aria-label': name,
        title: name,
        click: () => this.#pick(emoji),
      },
      emoji,
    );
  }

  #pick(emoji) {
    used(emoji);
    this.#on.pick(emoji);
    this.close();
  }

  #key(event) {
    if (event.isComposing) return;
    const { key } = event;
    const alone = !event.ctrlKey && !event.metaKey && !event.altKey;
    const inField = event.target === this.field;
    const next = alone ? this.#next(key, inField) : null;
    if (key === 'Escape' || isEmojiKey(event)) this.close();
    else if (next) this.#go(next);
    else if (inField && key === 'Enter') this.#buttons[0]?.click();
    else {
      if (!alone || inField || key.length > 1 || key === ' ') return;
      event.stopPropagation(); // no letter of the console's keyboard
      return this.field.focus(); // where this letter goes then
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** Where a key leads from what has the focus, null if it leads nowhere. */
  #next(key, inField) {
    const all = this.#buttons;
    if (inField) return (key === 'ArrowDown' && all[0]) || null;
    const at = all.indexOf(/** @type {any} */ (document.activeElement));
    const ahead = getComputedStyle(this.root).direction === 'rtl' ? -1 : 1;
    const step = { ArrowRight: ahead, ArrowLeft: -ahead }[key];
    if (step) return all[at + step] ?? all[at];
    if (key === 'Home') return all[0];
    if (key === 'End') return all.at(-1);
    if (key === 'ArrowDown') return beside(all.slice(at)) ?? all[at];
    if (key === 'ArrowUp') return beside(all.slice(0, at + 1).reverse()) ?? this.field;
    return null;
  }

  #go(node) {
    if (node !== this.field) {
      for (const it of this.#buttons) it.tabIndex = it === node ? 0 : -1;
    }
    node.focus();
    node.scrollIntoView({ block: 'nearest' });
  }
}

/**
 * Of the line next to that of the first one, the one that is nearest to it.
 * @param {HTMLElement[]} buttons
 */
function beside([from, ...others]) {
  const here = from.getBoundingClientRect();
  const places = others.map((node) => ({ node, box: node.getBoundingClientRect() })).filter(
    ({ box }) => Math.abs(box.top - here.top) > here.height / 2
  );
  const away = ({ box }) => Math.abs(box.left - here.left);
  return places.filter(({ box }) => Math.abs(box.top - places[0].box.top) < here.height / 2).sort(
    (a, b) => away(a) - away(b)
  )[0]?.node;
}

/** @extends {Autocomplete<import('./emoji-list.js').Emoji>} */
export class EmojiNames extends Autocomplete {
  #on; #from = 0; #to = 0;

  /**
   * @param {{pick: (emoji: string, from: number, to: number) => void,
   *   active: (list: string, option: string) => void}} on
   */
  constructor(on) {
    super('emoji-names', 'Emoji', on.active);
    this.#on = on;
  }

  /**
   * Two letters at least, and the colon begins a word: no time, no address.
   * @param {string} text up to the caret
   */
  typed(text) {
    const query = /(?:^|\s):([a-z]{2}[a-z_]*)$/i.exec(text)?.[1] ?? '';
    if (!query || !find(query).length) return this.close();
    this.#to = text.length;
    this.#from = this.#to - query.length - 1;
    this.open(plain(query));
  }

  draw() {
    const query = this.query ?? '';
    const place = (name) => ` ${plain(name)}`.indexOf(` ${query}`);
    this.show(find(query).slice(0, SHOWN), ({ emoji, name, words }) => {
      const other = place(name) < 0 && words.find((it) => place(it) >= 0);
      return [
        el('span', { 'aria-hidden': 'true' }, emoji),
        el(
          'span.truncate',
          {},
          ...marked(name, place(name), query.length),
          ...(other ? [', ', ...marked(other, place(other), query.length)] : []),
        ),
      ];
    });
  }

  take({ emoji }) {
    used(emoji);
    this.#on.pick(emoji, this.#from, this.#to);
  }
}
