// The navigation rail: inbox, search, pages, keyboard, logout and profile.

import { el, icon } from '../../shared/dom.js';
import { short } from '../inbox/row.js';
import { t } from './language.js';

/**
 * @param {string} look the name of an icon
 * @param {string} words
 * @param {() => void} click
 */
const button = (look, words, click) => el(
  `button.rail-button.${look}`,
  { type: 'button', 'aria-label': words, title: words, click },
  icon(look),
  el('span.word', {}, words),
);

export class Rail {
  #badge = el('span.count', { 'aria-hidden': 'true' });
  #inbox;

  /**
   * @param {{inbox: () => void, search: () => void, keyboard: () => void, leave: () => void,
   *   pages: HTMLElement[], profile: HTMLElement}} on
   */
  constructor(on) {
    this.#inbox = el(
      'a',
      { href: '#', 'aria-current': 'page', click: on.inbox },
      icon('inbox'),
      this.#badge,
      el('span.word', {}, t('Inbox')),
    );
    this.root = el(
      'nav.rail',
      { 'aria-label': t('Main') },
      el('span.logo', {}, icon('swift')),
      this.#inbox,
      button('search', t('Search'), on.search),
      ...on.pages,
      el('span.grow'),
      button('keys', t('Keyboard shortcuts'), on.keyboard),
      button('leave', t('Log out'), on.leave),
      on.profile,
    );
  }

  /** @param {number} waiting */
  render(waiting) {
    this.#badge.hidden = !waiting;
    this.#badge.textContent = short(waiting);
    this.#inbox.setAttribute('aria-label', waiting ? t('Inbox, {} waiting', waiting) : t('Inbox'));
  }

  /** Marks the inbox as the current page. */
  showInbox() {
    this.#inbox.href = '#';
    this.#inbox.setAttribute('aria-current', 'page');
  }

  /**
   * A page covers the inbox. The link to the inbox leads to the conversation that was open.
   * @param {string} id
   */
  showPage(id) {
    if (id) this.#inbox.href = `#${id}`;
    this.#inbox.removeAttribute('aria-current');
  }
}
