// The list column: tabs, filter, a window over the rows, waiting clocks. Rows never move under the
// pointer.

import { el, icon, reconcile } from '../../shared/dom.js';
import { api } from '../shell/api.js';
import { VIEWS } from './inbox.js';
import { drawRow, duration, rowModel, short } from './row.js';
import { Rows } from './rows.js';

const NAMES = { waiting: 'Waiting', mine: 'Mine', all: 'All', closed: 'Closed' };
const EMPTY = {
  waiting: ['No one is waiting', 'New visitors appear here automatically.'],
  mine: ['No conversations assigned to you', 'Claim one from the waiting list.'],
  all: ['No open conversations', 'They appear here as soon as a visitor writes.'],
  closed: ['No closed conversations yet', 'They stay here, and you can reopen them.'],
};
const SILENT = 3000; // ms without an answer of which nothing is said
const STILL = 4000; // ms after which a pointer that rests no longer holds the rows

export class List {
  #inbox;
  #on;
  #tabs = el('nav.tabs', { 'aria-label': 'Views' });
  #box;
  #pinned = el('div.section.pinned', { 'aria-hidden': 'true' });
  #none = el('div.empty', { hidden: true });
  #rows;
  #pointed = 0;
  #filter;
  #tag = el('select.input', { id: 'tag', change: () => this.#narrow() });
  #first = '';
  /** The open conversation, if the view has it. */ #shown = '';
  #asked = Date.now();

  /**
   * @param {import('./inbox.js').Inbox} inbox
   * @param {{open: (id: string) => void, take: (id: string) => void, live: () => boolean, lostAt: () => number, current: () =>
   *   string, typing: (id: string) => string, search: () => void, changed: () => void}} on
   * @param {Element} foot
   */
  constructor(inbox, on, foot) {
    this.#inbox = inbox;
    this.#on = on;
    inbox.hold = () => Date.now() - this.#pointed < STILL;
    this.#box = el('div.rows', {
      'aria-label': 'Conversations',
      role: 'region',
      tabindex: -1,
      pointermove: (event) => { if (event.pointerType === 'mouse') this.#pointed = Date.now(); },
      pointerleave: () => { this.#pointed = 0; inbox.settle(); },
      keydown: (event) => this.#key(event),
      click: (event) => this.#click(event),
    });
    this.#box.addEventListener('scroll', () => this.#scrolled(), { passive: true });
    this.#box.append(this.#pinned, this.#none);
    this.#rows = new Rows(this.#box, (model, node) => this.#drawOne(model, node));
    const phone = matchMedia('(max-width: 719px)');
    const fit = () => { this.#rows.size.row = phone.matches ? 68 : 60; on.changed(); };
    phone.addEventListener('change', fit);
    fit();
    new ResizeObserver(() => this.#draw()).observe(this.#box);
    this.#filter = el(
      'div.filter',
      { hidden: true, id: 'filter' },
      el('label', { for: 'tag' }, 'Tag'),
      this.#tag,
    );
    this.funnel = el(
      'button.icon-button',
      {
        type: 'button',
        'aria-label': 'Filter by tag',
        'aria-expanded': 'false',
        'aria-controls': 'filter',
        click: () => this.#toggleFilter(),
      },
      icon('sliders'),
    );
    this.root = el(
      'section.list',
      { 'aria-label': 'Inbox' },
      el(
        'header.bar',
        {},
        el('h1', {}, 'Inbox'),
        el('span.grow'),
        el(
          'button.icon-button',
          { type: 'button', 'aria-label': 'Search and commands', click: on.search },
          icon('search'),
        ),
        this.funnel,
      ),
      this.#tabs,
      this.#filter,
      this.#box,
      foot,
    );
  }

  render() {
    const { counts, view } = this.#inbox;
    reconcile(
      this.#tabs,
      VIEWS.map((key) => ({ key, on: key === view, count: counts[key] })),
      (model) => el(
        'button',
        {
          type: 'button',
          'aria-current': model.on ? 'page' : null,
          click: () => { this.#box.scrollTop = 0; this.#inbox.show(model.key); },
        },
        NAMES[model.key],
        el('span', {}, short(model.count)),
      ),
    );
    this.#draw();
  }

  /**
   * Every second: waiting times, without touching anything else. While disconnected they stand
   * still.
   */
  clocks() {
    if (this.#inbox.loaded || this.#inbox.failed) this.#asked = Date.now();
    if (this.#pointed && !this.#inbox.hold()) this.#inbox.settle();
    for (const node of /** @type {any} */ (this.#box).querySelectorAll('.wait')) {
      this.#clock(node, node.closest('.row').dataset.id);
    }
  }

  #clock(node, id) {
    const row = this.#inbox.rows.get(id);
    if (!row) return;
    const until = this.#on.live() ? Date.now() : this.#on.lostAt() || Date.now();
    const seconds = Math.max(0, Math.floor(
      (until - Date.parse(row.waiting_since ?? row.created_at)) / 1000
    ));
    node.dataset.level = seconds >= 300 ? 'urgent' : seconds >= 120 ? 'soon' : '';
    const text = (this.#on.live() ? '' : 'over ') + duration(seconds);
    if (node.lastChild.textContent !== text) node.lastChild.textContent = text;
  }

  move(step) {
    const order = this.#inbox.sections().flatMap(({ ids }) => ids);
    const at = order.indexOf(this.#on.current()) + step;
    const next = order[Math.min(order.length - 1, Math.max(0, at))];
    if (next) this.#on.open(next);
  }

  reveal(id) { this.#rows.reveal(id); }

  /** Into the list by the keyboard: the open row, or the first. */
  focus() {
    const row = /** @type {HTMLElement?} */ (this.#box.querySelector('.row[tabindex="0"]'));
    (row ?? this.#box).focus();
  }

  #draw() {
    const { view, loaded, failed } = this.#inbox;
    const sections = this.#inbox.sections().filter(({ ids }) => ids.length).map(
      (section) => ({ ...section, key: section.name })
    );
    const none = sections.length
      ? null
      : failed
      ? ['The list could not be loaded', failed]
      : loaded
      ? this.#inbox.filter.tag
        ? ['No conversations with this tag', 'Choose another tag, or All.']
        : EMPTY[view]
      : Date.now() - this.#asked > SILENT
      ? ['Loading the list', 'This is taking longer than usual.']
      : null;
    const said = none?.join() ?? '';
    if (this.#none.dataset.said !== said) {
      this.#none.dataset.said = said;
      this.#none.replaceChildren(...none ? [el('b', {}, none[0]), el('p', {}, none[1])] : []);
    }
    this.#none.hidden = !none;
    this.#first = sections[0]?.ids[0] ?? '';
    this.#rows.show(sections);
    const current = this.#on.current();
    this.#shown = this.#inbox.shows(current) ? current : '';
    this.#scrolled(false);
    this.clocks();
  }

  /** Sixty times a second: only rows that came into sight are made. */
  #scrolled(only = true) {
    this.#rows.render((section, index) => this.#model(section, index, this.#shown), only);
    this.#pin();
    for (const section of this.#rows.sections) {
      if (section.hasMore && this.#rows.nearEnd(section)) this.#inbox.more(section.name);
    }
  }

  #pin() {
    const above = this.#rows.above;
    this.#pinned.hidden = !above;
    if (above) this.#heading(this.#pinned, this.#headModel(above));
  }

  #model(section, index, current) {
    if (index < 0) return this.#headModel(section);
    const id = section.ids[index];
    const row = this.#inbox.rows.get(id);
    if (!row) return { key: id, gone: true };
    return rowModel(row, {
      mine: this.#inbox.mine(row),
      on: this.#on.current() === id,
      first: !current && id === this.#first,
      typing: this.#on.typing(id),
    });
  }

  #headModel({ name, title, count }) {
    const asOf = new Date(this.#inbox.asOf).toLocaleTimeString();
    return {
      key: name,
      title: this.#on.live() ? title : `${title.split(',')[0]}, as of ${asOf}`,
      count,
    };
  }

  #drawOne(model, node) {
    if (model.title) return this.#heading(node ?? el('h2.section'), model);
    const old = node?.contains(document.activeElement);
    const row = model.gone ? el('div.row') : drawRow(model);
    if (model.waits) this.#clock(row.querySelector('.wait'), model.key);
    if (old) queueMicrotask(() => {
      if (document.activeElement === document.body) row.focus({ preventScroll: true });
    });
    return row;
  }

  #heading(node, { title, count }) {
    const sign = `${title}|${count}`;
    if (node.dataset.sign !== sign) {
      node.dataset.sign = sign;
      node.replaceChildren(title, el('span', {}, short(count)));
    }
    return node;
  }

  /** In the same task as the click, so that what is typed next is a reply. */
  #click(event) {
    const row = event.target.closest('a.row');
    if (!row || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.#on.take(row.dataset.id);
  }

  /** Arrows walk through the rows; what is chosen is opened by Enter, as a link is. */
  #key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const row = event.target.closest('.row');
    if (!step || !row || event.altKey) return;
    event.preventDefault();
    const order = this.#inbox.sections().flatMap(({ ids }) => ids);
    const next = order[order.indexOf(row.dataset.id) + step];
    if (!next) return;
    this.#rows.reveal(next);
    this.#draw();
    /** @type {HTMLElement?} */ (
      this.#box.querySelector(`[data-id="${CSS.escape(next)}"]`)
    )?.focus({ preventScroll: true });
  }

  async #toggleFilter(show = this.#filter.hidden) {
    this.#filter.hidden = !show;
    this.funnel.setAttribute('aria-expanded', String(show));
    if (!show) {
      if (this.#inbox.filter.tag) { this.#tag.value = ''; this.#narrow(); }
      return;
    }
    this.#tag.replaceChildren(el('option', { value: '' }, 'All'));
    this.#tag.focus();
    try {
      const { tags } = await api.tags();
      this.#tag.append(...tags.map(({ name }) => el('option', { value: name }, name)));
    } catch {
      this.#tag.append(el('option', { disabled: true }, 'Tags could not be loaded'));
    }
  }

  #narrow() {
    const tag = this.#tag.value;
    this.#box.scrollTop = 0;
    this.#inbox.narrow(tag ? { tag } : {});
  }
}
