// The title of a conversation in the head of the thread, edited in place. Enter saves, Escape keeps
// the old one; so does leaving the field, unless the text was changed, which saves.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';

const LENGTH_MAX = 200; // characters, as the gateway takes

export class Title {
  #title = '';
  #button;
  #field;
  #save;

  /** @param {(title: string) => void} save */
  constructor(save) {
    this.#save = save;
    this.#button = el('button.link.truncate', { type: 'button', dir: 'auto', click: () => this.edit() });
    this.#field = el('input.input', {
      'aria-label': t('Title of the conversation'),
      placeholder: t('Title'),
      dir: 'auto',
      maxlength: LENGTH_MAX,
      hidden: true,
      keydown: (event) => this.#key(event),
      blur: () => this.#leave(true),
    });
    this.root = el('span.titling', { hidden: true }, this.#button, this.#field);
  }

  /**
   * @param {string} title
   * @param {boolean} isKnown whether the conversation has loaded
   */
  render(title, isKnown) {
    this.#title = title;
    this.root.hidden = !isKnown;
    this.#button.textContent = title || t('Add a title');
    this.#button.setAttribute('aria-label', title ? t('Title: {}. Edit', title) : t('Add a title'));
    this.#button.title = title;
    this.#button.classList.toggle('none', !title);
  }

  edit() {
    if (this.root.hidden || !this.#field.hidden) return;
    this.#field.value = this.#title;
    this.#show(true);
    this.#field.select();
  }

  /** Ends the editing of another conversation's title. */
  drop() { this.#show(false); }

  /** @param {boolean} isEditing */
  #show(isEditing) {
    this.#field.hidden = !isEditing;
    this.#button.hidden = isEditing;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.isComposing || event.key !== 'Enter' && event.key !== 'Escape') return;
    event.preventDefault();
    event.stopPropagation();
    this.#leave(event.key === 'Enter');
    this.#button.focus();
  }

  /** @param {boolean} isKept */
  #leave(isKept) {
    if (this.#field.hidden) return;
    const title = this.#field.value.trim();
    this.#show(false);
    if (isKept && title !== this.#title) this.#save(title);
  }
}
