// The bar above the rows while some are selected: how many, and the actions on all of them. It
// shows the progress, and afterwards what was done.

import { el, icon } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { closing, transfer } from '../thread/transfer.js';
import { editTags } from '../thread/tags.js';
import { chooseMacro } from '../thread/macros.js';
import { Sheet } from '../thread/sheet.js';
import { run, sentences } from './bulk.js';

/** @typedef {import('./bulk.js').Work} Work */
/** @typedef {import('./selection.js').Selection} Selection */

/** @type {import('./bulk.js').Count} */
const reopened = (n) => t('{} reopened.', n);
/** @type {import('./bulk.js').Count} */
const openAlready = (n) => t('{} open already.', n);

export class BulkBar {
  #on;
  #count = el('b', { role: 'status' });
  #progress = el('progress', { hidden: true, 'aria-label': t('Progress') });
  #report = el('div.bulk-report', { hidden: true });
  #buttons;
  /** @type {HTMLButtonElement} */
  #close;
  /** @type {HTMLButtonElement} */
  #reopen;
  #isBusy = false;

  /**
   * @param {{selection: Selection, inbox: import('./inbox.js').Inbox, me: () => Person,
   *   undo: import('../shell/undo.js').Undo, shown: () => string[], changed: () => void,
   *   focus: () => void}} on
   *   `shown` are the ids of all loaded rows; `focus` moves the focus to the list
   */
  constructor(on) {
    this.#on = on;
    this.sheet = new Sheet(on.focus);
    /** @type {(look: string, words: string, key: string, act: () => void) => HTMLButtonElement} */
    const button = (look, words, key, act) => el(
      'button.icon-button',
      { type: 'button', 'aria-label': words, title: key ? `${words} (${key})` : words, click: act },
      icon(look),
    );
    this.#close = button('check', t('Close'), 'E', () => this.close());
    this.#reopen = button('reload', t('Reopen'), 'O', () => this.reopen());
    this.#buttons = el(
      'div.bulk-tools',
      { role: 'toolbar', 'aria-label': t('Selected conversations') },
      this.#close,
      this.#reopen,
      button('swap', t('Assign'), 'T', () => { this.assign(); }),
      button('tag', t('Tags'), 'L', () => { this.tags(); }),
      button('bolt', t('Run a macro'), 'M', () => { this.macro(); }),
    );
    this.#bar = el(
      'div.bulk-bar',
      {},
      button('x', t('Clear the selection'), 'Esc', () => on.selection.clear()),
      this.#count,
      el('button.link', { type: 'button', click: () => on.selection.add(on.shown()) },
        t('Select all shown')),
      el('span.grow'),
      this.#buttons,
      this.#progress,
    );
    this.root = el('div.bulk', { hidden: true }, this.#bar, this.#report, this.sheet.root);
  }

  #bar;

  get isOpen() { return this.#on.selection.size > 0; }

  render() {
    const { selection, inbox } = this.#on;
    selection.prune((id) => inbox.rows.has(id));
    const rows = this.#rows();
    this.#bar.hidden = !rows.length && !this.#isBusy;
    this.root.hidden = this.#bar.hidden && this.#report.hidden;
    if (this.#bar.hidden) this.sheet.close();
    if (this.#isBusy) return;
    const words = t('{} selected', rows.length);
    if (this.#count.textContent !== words) this.#count.textContent = words;
    const closed = rows.every(({ status }) => status === 'closed');
    this.#close.hidden = closed;
    this.#reopen.hidden = !closed;
  }

  #rows() {
    const { selection, inbox } = this.#on;
    return selection.ids.flatMap((id) => inbox.rows.get(id) ?? []);
  }

  close() {
    const size = this.#rows().length;
    const isOne = size === 1;
    closing(this.sheet, (reason) => {
      this.#run({ actions: [{ type: 'close', ...(reason && { reason }) }] },
        t('Closing'), (n) => t('{} closed.', n), (n) => t('{} closed already.', n));
    }, isOne ? t('Close 1 conversation') : t('Close {} conversations', size),
    isOne ? t('Close conversation') : t('Close conversations'));
  }

  reopen() {
    this.#run({ actions: [{ type: 'reopen' }] }, t('Reopening'), reopened, openAlready);
  }

  assign() {
    const everybody = {
      me: this.#on.me(), assignee: { id: '', name: '' }, team: null, viewers: new Set(),
    };
    return transfer(this.sheet, everybody, (receiver, name, reason) => {
      const isQueue = !receiver.to && !receiver.to_team;
      /** @type {Action[]} */
      const actions = [
        ...reason ? [{ type: 'note', text: reason }] : [],
        { type: 'assign', ...isQueue ? { to: 'queue' } : receiver },
      ];
      this.#run({ actions }, t('Assigning'),
        (n) => (isQueue ? t('{} returned to the queue.', n) : t('{1} assigned to {2}.', n, name)),
        (n) => (isQueue ? t('{} in the queue already.', n) : t('{1} with {2} already.', n, name)));
    });
  }

  /** The editor shows the tags that all have; the others of each stay. */
  tags() {
    const [first, ...rest] = this.#rows();
    const common = (first?.tags ?? []).filter(
      (tag) => rest.every((row) => row.tags?.includes(tag)));
    return editTags(this.sheet, common, (tags) => {
      const added = tags.filter((tag) => !common.includes(tag));
      const removed = common.filter((tag) => !tags.includes(tag));
      /** @type {Action[]} */
      const actions = [
        ...added.length ? [{ type: 'add_tags', tags: added }] : [],
        ...removed.length ? [{ type: 'remove_tags', tags: removed }] : [],
      ];
      if (!actions.length) return this.sheet.close();
      this.#run({ actions }, t('Tagging'),
        (n) => t('{} tagged.', n), (n) => t('{} tagged already.', n));
    });
  }

  macro() {
    return chooseMacro(this.sheet, ({ id, name }) => {
      this.#run({ macro: id }, name,
        (n) => t('{1} changed by “{2}”.', n, name), (n) => t('{} unchanged.', n));
    });
  }

  /**
   * @param {Work} work
   * @param {string} doing
   * @param {import('./bulk.js').Count} done
   * @param {import('./bulk.js').Count} already
   */
  async #run(work, doing, done, already) {
    if (this.#isBusy) return;
    const { selection, inbox, undo, changed } = this.#on;
    const { ids } = selection;
    this.sheet.close();
    this.#isBusy = true;
    this.#report.hidden = true;
    this.#buttons.hidden = true;
    this.#progress.hidden = false;
    this.#progress.max = ids.length;
    const report = await run(ids, work, (count) => {
      this.#progress.value = count;
      this.#count.textContent = t('{1}: {2} of {3}', doing, count, ids.length);
    });
    this.#isBusy = false;
    this.#buttons.hidden = false;
    this.#progress.hidden = true;
    const tried = new Set([...report.done, ...report.unchanged.map(({ id }) => id)]);
    selection.prune((id) => !tried.has(id));
    this.#tell(sentences(report, done, already));
    // a row with the focus would stay, although it has left the list
    const focused = document.activeElement;
    if (focused instanceof HTMLElement && focused.matches('a.row')) focused.blur();
    inbox.settle(true);
    const isClose = 'actions' in work && work.actions[0].type === 'close';
    if (isClose && report.done.length) {
      const { length } = report.done;
      const words = length === 1 ? t('1 conversation closed.') : t('{} conversations closed.', length);
      undo.offer(words, async () => {
        const back = await run(report.done, { actions: [{ type: 'reopen' }] }, () => {});
        this.#tell(sentences(back, reopened, openAlready));
        changed();
      });
    }
    changed();
  }

  /** @param {string} words */
  #tell(words) {
    this.#report.hidden = false;
    this.#report.replaceChildren(
      el('p', { role: 'status' }, words),
      el(
        'button.icon-button',
        {
          type: 'button',
          'aria-label': t('Dismiss'),
          click: () => { this.#report.hidden = true; this.#on.changed(); },
        },
        icon('x', 'small'),
      ),
    );
  }
}
