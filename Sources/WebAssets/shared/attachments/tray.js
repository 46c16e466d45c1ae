// The tray above the text: files that go out with the next message, each with a description if it
// is a picture; and the reasons why files were refused.

import { el, icon } from '../dom.js';
import { uuid } from '../uuid.js';
import { FILES_MAX, refusal } from './limits.js';
import { preview } from './picture.js';
import { facts, pastedName, say } from './words.js';

/** @typedef {import('./shelf.js').ParcelFile} ParcelFile */

const ALT_MAX = 500; // characters

export class Tray {
  /** @type {ParcelFile[]} */
  files = [];
  #on;
  #list = el('ul.tray', { hidden: true });
  #refused = el('div.refusals');

  /**
   * @param {{changed: () => void, focus: () => void, limits: () => FileLimits,
   *   hasRoom: (bytes: number) => boolean}} on `focus` puts the focus on the text
   */
  constructor(on) {
    this.#on = on;
    this.root = el('div.tray-place', {}, this.#refused, this.#list);
    this.speak();
  }

  speak() { this.#list.setAttribute('aria-label', say('tray')); }

  /**
   * @param {File[]} some
   * @param {boolean} isPasted
   */
  add(some, isPasted) {
    this.#refused.replaceChildren();
    let bytes = this.files.reduce((sum, file) => sum + file.bytes, 0);
    for (const file of some) {
      const words = refusal(file, this.#on.limits())
        || (this.files.length >= FILES_MAX && say('many'))
        || (!this.#on.hasRoom(bytes + file.size) && say('room'));
      if (words) { this.refuse(words); continue; }
      bytes += file.size;
      // browsers call each picture of the clipboard so
      const isNameless = isPasted && /^image\.\w+$/.test(file.name);
      this.#take(file, isNameless ? pastedName(file.type) : file.name);
    }
    this.#changed();
    this.#on.focus();
  }

  /** @param {string} words why something is not sent */
  refuse(words) {
    if ([...this.#refused.children].some((line) => line.querySelector('span')?.textContent === words)) return;
    /** @type {HTMLElement} */
    const line = el(
      'p.refused',
      { role: 'alert' },
      icon('alert'),
      el('span', { dir: 'auto' }, words),
      el('button.icon-button', {
        type: 'button',
        'aria-label': say('dismiss'),
        click: () => { line.remove(); this.#on.focus(); },
      }, icon('x')),
    );
    this.#refused.append(line);
  }

  /** The files, which leave the tray. */
  take() {
    const { files } = this;
    this.files = [];
    this.#list.replaceChildren();
    this.#refused.replaceChildren();
    this.#changed();
    return files;
  }

  #changed() {
    this.#list.hidden = !this.files.length;
    this.#on.changed();
  }

  /**
   * @param {File} blob
   * @param {string} name
   */
  #take(blob, name) {
    /** @type {ParcelFile} */
    const file = { id: uuid(), name, type: blob.type, bytes: blob.size, alt: '', blob };
    this.files.push(file);
    const thumb = el('span.thumb', {}, icon('file'));
    const about = el('span.meta', {}, facts(file));
    /** @type {HTMLLIElement} */
    const line = el(
      'li',
      {},
      thumb,
      el('div', {}, el('b.truncate', { dir: 'auto', title: name }, name), about),
      el('button.icon-button', {
        type: 'button',
        'aria-label': say('remove', name),
        click: () => this.#remove(file, line),
      }, icon('x')),
    );
    this.#list.append(line);
    preview(blob).then((picture) => {
      if (!picture) return;
      file.width = picture.width;
      file.height = picture.height;
      about.textContent = facts(file);
      thumb.classList.add('big');
      thumb.replaceChildren(picture.canvas);
      line.append(describing(file));
    });
  }

  /** @param {ParcelFile} file @param {HTMLElement} line */
  #remove(file, line) {
    const next = line.nextElementSibling ?? line.previousElementSibling;
    this.files = this.files.filter((it) => it !== file);
    line.remove();
    this.#changed();
    const button = next?.querySelector('button');
    if (button) button.focus(); else this.#on.focus();
  }
}

/**
 * The field for what a picture shows.
 * @param {ParcelFile} file
 */
function describing(file) {
  const name = `alt-${file.id}`;
  return el(
    'div.alt',
    {},
    el('label.meta', { for: name }, say('description')),
    el('input.input', {
      id: name,
      dir: 'auto',
      maxlength: ALT_MAX,
      autocomplete: 'off',
      placeholder: say('shows'),
      'aria-describedby': `${name}-for`,
      input: (event) => { file.alt = /** @type {HTMLInputElement} */ (event.target).value.trim(); },
      // Enter in this field would send the form with a half-written description
      keydown: (event) => { if (event.key === 'Enter') event.preventDefault(); },
    }),
    el('span.meta.sr-only', { id: `${name}-for` }, say('aloud')),
  );
}
