// The menu of further actions in the head of the thread.

import { el, icon } from '../../shared/dom.js';
import { t } from '../shell/language.js';

export class MoreMenu {
  #list;
  #button;

  /**
   * @param {Record<'visitor' | 'tags' | 'reason' | 'title' | 'macro', () => void>
   *   & {remove: (() => void) | null}} on
   */
  constructor(on) {
    this.#list = el(
      'div.pop.menu-list',
      { role: 'menu', id: 'more', hidden: true },
      this.#item(t('Edit title'), 'D', on.title),
      this.#item(t('Edit tags'), 'L', on.tags),
      this.#item(t('Run a macro'), 'M', on.macro),
      this.#item(t('Close with a reason'), 'E', on.reason),
      this.#item(t('Visitor details'), 'V', on.visitor),
      on.remove && this.#item(t('Delete'), '', on.remove),
    );
    this.#button = el(
      'button.icon-button.more',
      {
        type: 'button',
        'aria-label': t('More actions'),
        'aria-haspopup': 'menu',
        'aria-expanded': 'false',
        'aria-controls': 'more',
        click: () => { this.#show(this.#list.hidden); },
      },
      icon('more'),
    );
    /** @type {HTMLElement} */
    this.root = el(
      'span.anchor',
      {
        keydown: (event) => { this.#key(event); },
        focusout: ({ relatedTarget: to }) => {
          if (!(to instanceof Node && this.root.contains(to))) this.#show(false);
        },
      },
      this.#button,
      this.#list,
    );
  }

  /**
   * @param {string} words
   * @param {string} key its shortcut
   * @param {() => void} act
   */
  #item(words, key, act) {
    const click = () => { this.#show(false); act(); };
    return el(
      'button',
      { type: 'button', role: 'menuitem', tabindex: -1, click },
      el('span', {}, words),
      key && el('kbd', {}, key),
    );
  }

  /**
   * Adds an action at the beginning.
   * @param {string} words
   * @param {() => void} act
   */
  add(words, act) { this.#list.prepend(this.#item(words, '', act)); }

  get #items() { return [...this.#list.querySelectorAll('button')]; }

  /** @param {boolean} isOpen */
  #show(isOpen) {
    if (this.#list.hidden === !isOpen) return;
    this.#list.hidden = !isOpen;
    this.#button.setAttribute('aria-expanded', String(isOpen));
    if (isOpen) this.#items[0].focus();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (this.#list.hidden) return;
    const items = this.#items;
    const at = items.findIndex((item) => item === document.activeElement);
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step) {
      items[(at + step + items.length) % items.length].focus();
    } else if (event.key === 'Escape') {
      this.#show(false);
      this.#button.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
