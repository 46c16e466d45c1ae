// The head of the thread: the visitor's name, the state of the conversation, who views it, and the
// actions on it.

import { el, icon } from '../../shared/dom.js';
import { face } from '../../shared/thread.js';
import { t } from '../shell/language.js';
import { whenNarrow } from '../shell/narrow.js';
import { MoreMenu } from './more-menu.js';
import { Title } from './title.js';

/**
 * @param {string} look the name of an icon
 * @param {string} words
 * @param {string} kind classes
 * @param {() => void} click
 * @param {string} key its shortcut
 */
const action = (look, words, kind, click, key) => el(
  `button.button${kind}`,
  { type: 'button', click, title: `${words} (${key})` },
  icon(look),
  el('span.word', {}, words),
);

export class Head {
  #sign = '';

  /**
   * @param {Record<'back' | 'claim' | 'transfer' | 'close' | 'reopen' | 'visitor' | 'tags'
   *   | 'reason' | 'macro', () => void> & {remove: (() => void) | null,
   *   retitle: (title: string) => void}} on `remove` is null if this operator may not delete
   */
  constructor(on) {
    this.name = el('h2.truncate', { dir: 'auto' });
    whenNarrow(899, (isAlone) => this.name.setAttribute('aria-level', isAlone ? '1' : '2'));
    this.place = el('p.meta.truncate', { dir: 'auto' });
    this.title = new Title(on.retitle);
    this.chip = el('span.chip');
    this.faces = el('span.faces');
    this.claim = action('check', t('Claim'), '.primary', on.claim, 'C');
    this.transfer = action('swap', t('Transfer'), '.quiet', on.transfer, 'T');
    this.close = action('check', t('Close'), '', on.close, 'E');
    this.reopen = action('reload', t('Reopen'), '', on.reopen, 'O');
    this.more = new MoreMenu({ ...on, title: () => this.title.edit() });
    this.root = el(
      'header.bar',
      {},
      el(
        'button.icon-button.back',
        { type: 'button', 'aria-label': t('Back to the list'), click: on.back },
        icon('back'),
      ),
      el('div.names', {}, this.name, el('div.second', {}, this.title.root, this.place)),
      this.chip,
      el('span.grow'),
      this.faces,
      this.claim,
      this.transfer,
      this.reopen,
      this.close,
      el(
        'button.icon-button.about',
        { type: 'button', 'aria-label': t('Visitor details'), click: on.visitor },
        icon('person'),
      ),
      this.more.root,
    );
  }

  /**
   * @param {{name: string, title: string, team: string, page: string, due: string,
   *   status: string | undefined, assignee: Named | null | undefined, mine: boolean,
   *   viewers: Person[], doing: string}} now `doing` is set if the visitor is not there
   */
  render({ name, title, team, page, due, status, assignee, mine, viewers, doing }) {
    const sign = JSON.stringify(
      [name, title, team, page, due, status, assignee, mine, viewers, doing]);
    if (sign === this.#sign) return;
    this.#sign = sign;
    this.name.textContent = name;
    this.title.render(title, !!status);
    this.place.textContent = [due, team, page, doing].filter(Boolean).join(' · ');
    this.place.title = this.place.textContent;
    this.place.hidden = !this.place.textContent;
    this.chip.textContent = status === 'closed'
      ? t('Closed')
      : mine
      ? t('Assigned to you')
      : assignee
      ? t('With {}', assignee.name)
      : status === 'waiting'
      ? t('Waiting')
      : '';
    this.chip.hidden = !this.chip.textContent;
    this.claim.hidden = status === 'closed' || !!assignee || !status;
    this.transfer.hidden = status === 'closed' || !status;
    this.close.hidden = status === 'closed' || !mine;
    this.reopen.hidden = status !== 'closed';
    this.faces.replaceChildren(...this.#viewing(viewers));
  }

  /** @param {Person[]} viewers */
  #viewing(viewers) {
    if (!viewers.length) return [];
    const names = viewers.map((who) => who.name);
    const words = names.length === 1
      ? t('{} is viewing', names[0]) : t('{} are viewing', names.join(', '));
    return [
      ...viewers.slice(0, 3).map((who) => face({ ...who, kind: 'operator' }, '.avatar-sm.present')),
      el('span.meta.seen', {}, words),
    ];
  }
}
