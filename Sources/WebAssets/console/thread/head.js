// The head of the thread: whose conversation it is, who else looks, and what can be done with it.

import { el, icon } from '../../shared/dom.js';
import { face } from '../../shared/thread.js';

/**
 * @param {string} look
 * @param {string} words
 * @param {string} kind classes
 * @param {() => void} click
 * @param {string} key
 */
const action = (look, words, kind, click, key) => el(
  `button.button${kind}`,
  { type: 'button', click, title: `${words} (${key})` },
  icon(look),
  el('span.word', {}, words),
);

export class Head {
  #sign = ''; #items; #list; #more;

  /**
   * @param {Record<'back'|'claim'|'transfer'|'close'|'reopen'|'visitor'|'tags'|'reason', () => void>}
   *   on
   */
  constructor(on) {
    this.name = el('h2.truncate', { dir: 'auto' });
    this.place = el('p.meta.truncate', { dir: 'auto' });
    this.chip = el('span.chip');
    this.faces = el('span.faces');
    this.claim = action('check', 'Claim', '.primary', on.claim, 'C');
    this.transfer = action('swap', 'Transfer', '.quiet', on.transfer, 'T');
    this.close = action('check', 'Close', '', on.close, 'E');
    this.reopen = action('reload', 'Reopen', '', on.reopen, 'O');
    const item = (words, key, click) => el(
      'button',
      { type: 'button', role: 'menuitem', tabindex: -1, click: () => { this.menu(false); click(); } },
      el('span', {}, words),
      el('kbd', {}, key),
    );
    this.#items = [
      item('Edit tags', 'L', on.tags),
      item('Close with a reason', 'E', on.reason),
      item('Visitor details', 'V', on.visitor),
    ];
    this.#list = el('div.pop.menu-list', { role: 'menu', id: 'more', hidden: true }, ...this.#items);
    this.#more = el(
      'button.icon-button.more',
      {
        type: 'button',
        'aria-label': 'More actions',
        'aria-haspopup': 'menu',
        'aria-expanded': 'false',
        'aria-controls': 'more',
        click: () => this.menu(this.#list.hidden),
      },
      icon('more'),
    );
    const menu = el(
      'span.anchor',
      {
        keydown: (event) => this.#key(event),
        focusout: (event) => {
          if (!menu.contains(/** @type {Node?} */ (event.relatedTarget))) this.menu(false);
        },
      },
      this.#more,
      this.#list,
    );
    this.root = el(
      'header.bar',
      {},
      el(
        'button.icon-button.back',
        { type: 'button', 'aria-label': 'Back to the list', click: on.back },
        icon('back'),
      ),
      el('div.names', {}, this.name, this.place),
      this.chip,
      el('span.grow'),
      this.faces,
      this.claim,
      this.transfer,
      this.reopen,
      this.close,
      el(
        'button.icon-button.about',
        { type: 'button', 'aria-label': 'Visitor details', click: on.visitor },
        icon('person'),
      ),
      menu,
    );
  }

  menu(show) {
    if (this.#list.hidden === !show) return;
    this.#list.hidden = !show;
    this.#more.setAttribute('aria-expanded', String(show));
    if (show) this.#items[0].focus();
  }

  /**
   * @param {{name: string, page: string, status: string, assignee: any, mine: boolean, viewers:
   *   any[], online: boolean?}} now
   */
  render({ name, page, status, assignee, mine, viewers, online }) {
    const sign = JSON.stringify([name, page, status, assignee, mine, viewers, online]);
    if (sign === this.#sign) return;
    this.#sign = sign;
    this.name.textContent = name;
    this.place.textContent = online === false ? `${page} · left the page`.replace(/^ · /, '') : page;
    this.place.hidden = !this.place.textContent;
    this.chip.textContent = status === 'closed'
      ? 'Closed'
      : mine
      ? 'Assigned to you'
      : assignee
      ? `With ${assignee.name}`
      : status === 'waiting'
      ? 'Waiting'
      : '';
    this.chip.hidden = !this.chip.textContent;
    this.claim.hidden = status === 'closed' || !!assignee || !status;
    this.transfer.hidden = status === 'closed' || !status;
    this.close.hidden = status === 'closed' || !mine;
    this.reopen.hidden = status !== 'closed';
    this.faces.replaceChildren(...this.#viewing(viewers));
  }

  #viewing(viewers) {
    if (!viewers.length) return [];
    const names = viewers.map((who) => who.name);
    const words = names.length === 1 ? `${names[0]} is viewing` : `${names.join(', ')} are viewing`;
    return [
      ...viewers.slice(0, 3).map((who) => face({ ...who, kind: 'operator' }, '.avatar-sm.present')),
      el('span.meta.seen', {}, words),
    ];
  }

  #key(event) {
    if (this.#list.hidden) return;
    const at = this.#items.indexOf(/** @type {any} */ (document.activeElement));
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      const { length } = this.#items;
      this.#items[(at + step + length) % length].focus();
    } else if (event.key === 'Escape') {
      this.menu(false);
      this.#more.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
