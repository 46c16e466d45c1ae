// The list column: tabs, sections, rows, waiting clocks. Rows never move under the pointer.

import { el, icon, reconcile, tick } from '../shared/dom.js';
import { face } from '../shared/thread.js';
import { VIEWS, faceOf, nameOf, unreadOf } from './inbox.js';

const NAMES = { waiting: 'Waiting', mine: 'Mine', all: 'All', closed: 'Closed' };
const EMPTY = {
  waiting: ['Nobody is waiting', 'A new visitor appears here by itself.'],
  mine: ['You have no conversation', 'Take one from the waiting list.'],
  all: ['No conversation is open', 'They appear here as soon as somebody writes.'],
  closed: ['No conversation is closed yet', 'Closed ones stay here and can be reopened.'],
};
const number = new Intl.NumberFormat();

export class List {
  #inbox;
  #on;
  #tabs;
  #rows;
  #held = /** @type {string[]} */ ([]);
  #hover = false;
  #clocks = new Map();

  /**
   * @param {import('./inbox.js').Inbox} inbox
   * @param {{open: (id: string) => void, live: () => boolean, lostAt: () => number, current: () =>
   *   string, changed: () => void}} on
   */
  constructor(inbox, on, foot) {
    this.#inbox = inbox;
    this.#on = on;
    this.#tabs = el('nav.tabs', { 'aria-label': 'Views' });
    this.#rows = el('div.rows', {
      tabindex: 0,
      'aria-label': 'Conversations',
      role: 'region',
      pointerenter: () => { this.#hover = true; },
      pointerleave: () => { this.#hover = false; on.changed(); },
      scroll: () => {
        const { scrollTop, clientHeight, scrollHeight } = this.#rows;
        if (scrollTop + clientHeight > scrollHeight - 400) inbox.more();
      },
    });
    this.root = el(
      'section.list',
      { 'aria-label': 'Inbox' },
      el('header.bar', {}, el('h1', {}, 'Inbox')),
      this.#tabs,
      this.#rows,
      foot,
    );
  }

  render() {
    const { counts, view, loaded } = this.#inbox;
    reconcile(
      this.#tabs,
      VIEWS.map((key) => ({ key, on: key === view, count: counts[key] })),
      (model) => el(
        'button',
        {
          type: 'button',
          'aria-current': model.on ? 'page' : null,
          click: () => this.#inbox.show(model.key),
        },
        NAMES[model.key],
        el('span', {}, short(model.count)),
      ),
    );
    const sections = this.#inbox.sections().filter((section) => section.rows.length);
    const models = sections.flatMap(({ title, rows, count }) => [
      {
        key: title,
        title: this.#on.live()
          ? title
          : `${title.split(',')[0]}, as of ${new Date(this.#inbox.asOf).toLocaleTimeString()}`,
        count,
      },
      ...this.#steady(rows).map((row) => this.#model(row))
    ]);
    if (!models.length && loaded) models.push({ key: 'empty', empty: EMPTY[view] });
    if (!models.length && this.#inbox.failed) {
      models.push({ key: 'failed', empty: ['The list could not be loaded', this.#inbox.failed] });
    }
    this.#held = models.map((model) => model.key);
    reconcile(this.#rows, models, (model, node) => this.#draw(model, node));
    this.clocks();
  }

  /**
   * Every second: waiting times, without touching anything else. While disconnected they stand
   * still.
   */
  clocks() {
    const until = this.#on.live() ? Date.now() : this.#on.lostAt() || Date.now();
    for (const [id, node] of this.#clocks) {
      const row = this.#inbox.rows.get(id);
      if (!row || !node.isConnected) { this.#clocks.delete(id); continue; }
      const seconds = Math.max(0, Math.floor(
        (until - Date.parse(row.waiting_since ?? row.created_at)) / 1000
      ));
      node.dataset.level = seconds >= 300 ? 'urgent' : seconds >= 120 ? 'soon' : '';
      node.lastChild.textContent = (this.#on.live() ? '' : 'over ') + duration(seconds);
    }
  }

  move(step) {
    const order = this.#held.filter((key) => this.#inbox.rows.has(key));
    const next = order[Math.min(order.length - 1, Math.max(
      0,
      order.indexOf(this.#on.current()) + step,
    ))];
    if (next) this.#on.open(next);
  }

  reveal(id) {
    this.#rows.querySelector(`[data-id="${CSS.escape(id)}"]`)?.scrollIntoView({ block: 'nearest' });
  }

  #steady(rows) {
    if (!this.#hover) return rows;
    const place = new Map(this.#held.map((key, index) => [key, index]));
    return [...rows].sort(
      (a, b) => (place.get(a.id) ?? Infinity) - (place.get(b.id) ?? Infinity) || 0
    );
  }

  #model(row) {
    const role = row.last_message?.role;
    const mine = this.#inbox.mine(row);
    const who = role === 'visitor' || !role
      ? ''
      : mine
      ? 'You: '
      : row.assignee
      ? `${row.assignee.name}: `
      : '';
    const spoken = who && row.visitor_read_seq >= row.last_seq - 1 ? 'read' : who ? 'sent' : '';
    return {
      key: row.id,
      face: faceOf(row),
      name: nameOf(row),
      preview: who + (row.last_message?.preview ?? ''),
      unread: unreadOf(row),
      waits: row.status === 'waiting',
      at: row.updated_at,
      when: ago(row.updated_at),
      other: !mine && row.assignee,
      state: mine ? spoken : '',
      on: this.#on.current() === row.id,
    };
  }

  #draw(model) {
    if (model.empty) {
      return el('div.empty', {}, el('b', {}, model.empty[0]), el('p', {}, model.empty[1]));
    }
    if (model.title) return el('h2.section', {}, model.title, el('span', {}, short(model.count)));
    const side = model.waits
      ? el('span.wait', {}, icon('clock'), el('span.sr-only', {}, 'waiting '), el('span'))
      : el('time', { datetime: model.at }, model.when);
    if (model.waits) this.#clocks.set(model.key, side);
    const mark = model.unread
      ? el(
        'span.count',
        {},
        model.unread > 99 ? '99+' : String(model.unread),
        el('span.sr-only', {}, ' unread'),
      )
      : model.other
      ? [
        el('span.sr-only', {}, `with ${model.other.name}`),
        face({ kind: 'operator', ...model.other }, '.avatar-sm'),
      ]
      : model.state
      ? [el('span.sr-only', {}, model.state), tick(model.state)]
      : '';
    return el(
      `a.row${model.unread ? '.unread' : ''}`,
      { href: `#${model.key}`, 'data-id': model.key, 'aria-current': model.on ? 'true' : null },
      face(model.face),
      el('b.truncate', { dir: 'auto' }, model.name),
      el('span.side', {}, side),
      el('span.preview.truncate', { dir: 'auto' }, model.preview),
      el('span.side', {}, ...[mark].flat()),
    );
  }
}

export const short = (count) => (
  count < 100_000 ? number.format(count) : `${number.format(Math.floor(count / 1000))}\u00a0k`
);
export const duration = (seconds) => (
  seconds < 3600
    ? `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
    : `${Math.floor(seconds / 3600)}\u00a0h`
);

function ago(at) {
  const minutes = Math.floor((Date.now() - Date.parse(at)) / 60_000);
  if (minutes < 1) return 'now';
  if (minutes < 60) return `${minutes}\u00a0min`;
  return minutes < 1440
    ? `${Math.floor(minutes / 60)}\u00a0h`
    : new Date(at).toLocaleDateString(undefined, { day: 'numeric', month: 'short' });
}
