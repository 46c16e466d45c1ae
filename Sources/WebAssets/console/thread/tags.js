// The editor for the tags of a conversation. It offers the workspace's tags and takes new ones.

import { el, icon } from '../../shared/dom.js';
import { api } from '../shell/api.js';
import { t } from '../shell/language.js';
import { buttons } from './sheet.js';

const SHOWN_MAX = 8;

/**
 * @param {import('./sheet.js').Sheet} sheet
 * @param {string[]} given the tags that the conversation has
 * @param {(tags: string[]) => void} done
 */
export async function editTags(sheet, given, done) {
  const field = new TagField(given);
  sheet.open(
    t('Tags'),
    [...field.parts, buttons(t('Save tags'), () => sheet.close())],
    () => done(field.finish()),
  );
  sheet.root.firstElementChild?.addEventListener('keydown', (event) => field.leave(event));
  field.draw();
  try {
    field.known = (await api.tags()).map(({ name }) => name);
    if (sheet.is(t('Tags'))) field.draw();
  } catch { /* without known tags, new ones can still be added */ }
}

class TagField {
  /**
   * The workspace's tags.
   * @type {string[]}
   */
  known = [];
  #tags;
  #given;
  /** The index of the selected option, -1 for none. */
  #at = -1;
  #chips = el('div.tags');
  #list = el('ul.choices', {
    id: 'known-tags',
    role: 'listbox',
    'aria-label': t('Existing tags'),
    hidden: true,
  });
  #warning = el('p.error', { role: 'alert' },
    t('Not saved. Press Esc again to discard your changes.'));
  /** @type {HTMLInputElement} */
  #input;

  /** @param {string[]} given */
  constructor(given) {
    this.#tags = [...given];
    this.#given = String(given);
    this.#input = el('input.input', {
      id: 'new-tag',
      role: 'combobox',
      maxlength: 50,
      autocomplete: 'off',
      'aria-expanded': 'false',
      'aria-controls': 'known-tags',
      'aria-autocomplete': 'list',
      autofocus: true,
      input: () => { this.#at = -1; this.draw(); },
      keydown: (event) => this.#key(event),
    });
  }

  get parts() {
    return [
      this.#chips,
      el('label.label', { for: 'new-tag' }, t('Add a tag')),
      this.#input,
      this.#list,
      this.#warning,
    ];
  }

  /**
   * Escape discards changes when it is pressed again.
   * @param {Event} event a key
   */
  leave(event) {
    const { key } = /** @type {KeyboardEvent} */ (event);
    const isSame = String(this.#tags) === this.#given && !this.#input.value.trim();
    if (key !== 'Escape' || isSame || !this.#warning.hidden) return;
    event.preventDefault();
    event.stopPropagation();
    this.#warning.hidden = false;
  }

  /** The tags, and the one that is in the field. */
  finish() {
    if (this.#input.value.trim()) this.#add(this.#input.value);
    return this.#tags;
  }

  #matches() {
    const typed = this.#input.value.trim().toLowerCase();
    return this.known.filter(
      (tag) => !this.#tags.includes(tag) && tag.toLowerCase().includes(typed)
    ).slice(0, SHOWN_MAX);
  }

  draw() {
    const input = this.#input;
    this.#warning.hidden = true;
    this.#chips.replaceChildren(...this.#tags.map((tag) => this.#chip(tag)));
    const offered = this.#matches();
    this.#at = Math.min(this.#at, offered.length - 1);
    this.#list.hidden = !offered.length;
    input.setAttribute('aria-expanded', String(offered.length > 0));
    if (this.#at >= 0) input.setAttribute('aria-activedescendant', `tag-${this.#at}`);
    else input.removeAttribute('aria-activedescendant');
    this.#list.replaceChildren(...offered.map((tag, index) => el(
      'li.chip',
      {
        id: `tag-${index}`,
        role: 'option',
        'aria-selected': String(index === this.#at),
        pointerdown: (event) => { event.preventDefault(); this.#add(tag); },
      },
      tag,
    )));
  }

  /**
   * A tag of the conversation, with a button that removes it.
   * @param {string} tag
   */
  #chip(tag) {
    const remove = () => {
      this.#tags = this.#tags.filter((it) => it !== tag);
      this.draw();
      this.#input.focus();
    };
    return el(
      'span.chip',
      {},
      tag,
      el(
        'button.bare',
        { type: 'button', 'aria-label': t('Remove {}', tag), click: remove },
        icon('x', 'small'),
      ),
    );
  }

  /** @param {string} tag */
  #add(tag) {
    const name = tag.trim();
    if (name && !this.#tags.includes(name)) this.#tags.push(name);
    this.#input.value = '';
    this.#at = -1;
    this.draw();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.isComposing) return;
    const { value } = this.#input;
    const offered = this.#matches();
    const { length } = offered;
    if (event.key === 'ArrowDown' && length) this.#at = (this.#at + 1) % length;
    else if (event.key === 'ArrowUp' && length) this.#at = this.#at <= 0 ? length - 1 : this.#at - 1;
    else if (event.key === 'Backspace' && !value) this.#tags.pop();
    else if ([',', 'Enter'].includes(event.key) && (value.trim() || this.#at >= 0)) {
      event.preventDefault();
      return this.#add(offered[this.#at] ?? value);
    } else return;
    if (event.key !== 'Backspace') event.preventDefault();
    this.draw();
  }
}
