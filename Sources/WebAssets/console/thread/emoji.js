// Emoji for the composer: a picker, which shows the last used ones first, and completion of names
// after a colon.

import { el } from '../../shared/dom.js';
import { store } from '../../shared/store.js';
import { t } from '../shell/language.js';
import { find, kinds, known, plain } from './emoji-list.js';
import { marked, Autocomplete } from './autocomplete.js';

const LAST = 'chirrup:console:emoji'; // the last used ones on this device, newest first
const LAST_MAX = 8;
const SHOWN_MAX = 6; // names after a colon

/** @typedef {import('./emoji-list.js').Emoji} Emoji */

/**
 * Ctrl and the full stop.
 * @param {KeyboardEvent} event
 */
export const isEmojiKey = (event) => (
  event.key === '.' && (event.ctrlKey || event.metaKey) && !event.altKey
);

function last() {
  /** @type {string[]?} */
  const stored = store.get(LAST);
  return (Array.isArray(stored) ? stored : []).map((it) => known.get(it)).filter(Boolean)
    .slice(0, LAST_MAX);
}

/** @param {string} emoji */
function use(emoji) {
  const others = last().map((it) => it.emoji).filter((it) => it !== emoji);
  store.set(LAST, [emoji, ...others].slice(0, LAST_MAX));
}

export class EmojiPicker {
  #on;
  /**
   * The element that had the focus before.
   * @type {Element?}
   */
  #from = null;

  /**
   * @param {{pick: (emoji: string) => void, focus: () => void,
   *   opened: (isOpen: boolean) => void}} on `focus` puts the focus on the text
   */
  constructor(on) {
    this.#on = on;
    this.field = el('input.input', {
      type: 'search',
      'aria-label': t('Search emoji by name'),
      placeholder: t('Search by name'),
      autocomplete: 'off',
      input: () => { this.#draw(); },
    });
    this.status = el('span.meta', { role: 'status' });
    this.list = el('div.emoji-kinds');
    this.root = el(
      'div.emoji',
      {
        role: 'dialog',
        'aria-label': t('Emoji'),
        hidden: true,
        keydown: (event) => { this.#key(event); },
      },
      el('div.emoji-find', {}, this.field, this.status),
      this.list,
    );
  }

  get isOpen() { return !this.root.hidden; }

  /** On a phone the field does not get the focus: its keyboard would cover the emoji. */
  open() {
    this.#from = document.activeElement;
    this.field.value = '';
    this.root.hidden = false;
    this.#draw();
    this.list.scrollTop = 0;
    this.#on.opened(true);
    if (matchMedia('(pointer: coarse)').matches) this.#go(this.#buttons[0]);
    else this.field.focus();
  }

  /** Returns the focus to where it was, if the picker has it. */
  close() {
    if (!this.isOpen) return;
    const hasFocus = this.root.contains(document.activeElement);
    this.root.hidden = true;
    this.#on.opened(false);
    if (!hasFocus) return;
    if (this.#from instanceof HTMLButtonElement) this.#from.focus();
    else this.#on.focus();
  }

  get #buttons() { return [...this.list.querySelectorAll('button')]; }

  #draw() {
    const query = this.field.value.trim();
    const found = query && find(query);
    const shown = found
      ? [{ name: t('Found'), all: found }]
      : [{ name: t('Recently used'), all: last() }, ...kinds];
    this.list.replaceChildren(...shown.filter(({ all }) => all.length).map(({ name, all }) => el(
      'section',
      { role: 'group', 'aria-label': name },
      el('span.meta', { 'aria-hidden': 'true' }, name),
      el('div', {}, ...all.map((it) => this.#button(it))),
    )));
    this.#buttons[0]?.setAttribute('tabindex', '0');
    this.status.textContent = found ? `${found.length || t('None')} found` : '';
  }

  /** @param {Emoji} emoji */
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

  /** @param {string} emoji */
  #pick(emoji) {
    use(emoji);
    this.#on.pick(emoji);
    this.close();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.isComposing) return;
    const { key } = event;
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    const inField = event.target === this.field;
    const next = isPlain ? this.#next(key, inField) : null;
    if (key === 'Escape' || isEmojiKey(event)) this.close();
    else if (next) this.#go(next);
    else if (inField && key === 'Enter') this.#buttons[0]?.click();
    else {
      if (!isPlain || inField || key.length > 1 || key === ' ') return;
      event.stopPropagation(); // keeps the letter from the console's shortcuts
      return this.field.focus(); // which then gets the letter
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * The element that a key moves the focus to, null for none.
   * @param {string} key
   * @param {boolean} inField
   * @returns {HTMLElement | null | undefined}
   */
  #next(key, inField) {
    const all = this.#buttons;
    if (inField) return (key === 'ArrowDown' && all[0]) || null;
    const at = all.findIndex((button) => button === document.activeElement);
    const ahead = getComputedStyle(this.root).direction === 'rtl' ? -1 : 1;
    const step = key === 'ArrowRight' ? ahead : key === 'ArrowLeft' ? -ahead : 0;
    if (step) return all[at + step] ?? all[at];
    if (key === 'Home') return all[0];
    if (key === 'End') return all.at(-1);
    if (key === 'ArrowDown') return beside(all.slice(at)) ?? all[at];
    if (key === 'ArrowUp') return beside(all.slice(0, at + 1).reverse()) ?? this.field;
    return null;
  }

  /** @param {HTMLElement} node */
  #go(node) {
    if (node !== this.field) {
      for (const it of this.#buttons) it.tabIndex = it === node ? 0 : -1;
    }
    node.focus();
    node.scrollIntoView({ block: 'nearest' });
  }
}

/**
 * The button of the next line that is nearest to the first button.
 * @param {HTMLElement[]} buttons
 */
function beside([from, ...others]) {
  const here = from.getBoundingClientRect();
  const places = others.map((node) => ({ node, box: node.getBoundingClientRect() })).filter(
    ({ box }) => Math.abs(box.top - here.top) > here.height / 2
  );
  /** @param {{box: DOMRect}} place */
  const away = ({ box }) => Math.abs(box.left - here.left);
  return places.filter(({ box }) => Math.abs(box.top - places[0].box.top) < here.height / 2).sort(
    (a, b) => away(a) - away(b)
  )[0]?.node;
}

/** @extends {Autocomplete<Emoji>} */
export class EmojiNames extends Autocomplete {
  #on;
  #from = 0;
  #to = 0;

  /**
   * @param {{pick: (emoji: string, from: number, to: number) => void,
   *   active: (list: string, option: string) => void}} on
   */
  constructor(on) {
    super('emoji-names', t('Emoji'), on.active);
    this.#on = on;
  }

  /**
   * Opens after a colon at the beginning of a word and two letters, so not in a time or a URL.
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
    /** @param {string} name */
    const place = (name) => ` ${plain(name)}`.indexOf(` ${query}`);
    this.show(find(query).slice(0, SHOWN_MAX), ({ emoji, name, words }) => {
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

  /** @param {Emoji} chosen */
  take({ emoji }) {
    use(emoji);
    this.#on.pick(emoji, this.#from, this.#to);
  }
}
