// The list column: tabs, filter, rows and waiting times. Rows do not move under the pointer.

import { el, icon, reconcile } from '../../shared/dom.js';
import { focusOn, replacing, targetOf } from '../shell/element.js';
import { locale, t } from '../shell/language.js';
import { whenNarrow } from '../shell/narrow.js';
import { VIEWS } from './inbox.js';
import { BulkBar } from './bulk-bar.js';
import { timeLeft } from './due.js';
import { FilterBar } from './filter-bar.js';
import { drawRow, duration, rowModel, short } from './row.js';
import { Rows } from './rows.js';
import { Selection } from './selection.js';
import { Views } from './views.js';

/** @typedef {import('./inbox.js').Tab} Tab */
/** @typedef {import('./rows.js').ListedSection} ListedSection */
/** @typedef {{key: string, title: string, count: number}} Heading */
/** @typedef {{key: string, gone: true}} Gone a row that was removed meanwhile */
/** @typedef {Heading | Gone | import('./row.js').RowModel} Model */

/** @type {Record<Tab, string>} */
const NAMES = { waiting: t('Waiting'), mine: t('Mine'), all: t('All'), closed: t('Closed') };
/** @type {Record<Tab, [string, string]>} */
const EMPTY = {
  waiting: [t('No one is waiting'), t('New visitors appear here automatically.')],
  mine: [t('No conversations assigned to you'), t('Claim one from the waiting list.')],
  all: [t('No open conversations'), t('They appear here as soon as a visitor writes.')],
  closed: [t('No closed conversations yet'), t('They stay here, and you can reopen them.')],
};
const SHORT_WAIT = 3000; // ms; a shorter wait for the first page is not shown
const STILL = 4000; // ms after which a pointer at rest no longer holds the rows

export class List {
  #inbox;
  #on;
  #tabs = el('nav.tabs', { 'aria-label': t('Views') });
  #box;
  #pinned = el('div.section.pinned', { 'aria-hidden': 'true' });
  #none = el('div.empty', { hidden: true });
  #rows;
  /** When the pointer last moved over the rows, in ms of Date.now(); 0 if it has left. */
  #pointedAt = 0;
  /** The id of the first row. */
  #first = '';
  /** The id of the open conversation, if the view has it. */
  #shown = '';
  /** When the current load began, or the last one ended. */
  #loadedAt = Date.now();

  /**
   * @param {import('./inbox.js').Inbox} inbox
   * @param {{open: (id: string) => void, take: (id: string) => void, live: () => boolean,
   *   lostAt: () => number, current: () => string, typing: (id: string) => string,
   *   doing: (id: string) => string, moved: () => void, search: () => void,
   *   me: () => Person, undo: import('../shell/undo.js').Undo, changed: () => void}} on
   *   `take` opens a conversation to answer; `lostAt` is when the connection was lost, or 0;
   *   `typing` returns the text that the visitor is typing, `doing` that they are not there;
   *   `moved` is called when other rows are in view
   * @param {Element} foot
   */
  constructor(inbox, on, foot) {
    this.#inbox = inbox;
    this.#on = on;
    this.selection = new Selection(on.changed);
    this.bulk = new BulkBar({
      selection: this.selection,
      inbox,
      me: on.me,
      undo: on.undo,
      shown: () => this.#order(),
      changed: on.changed,
      focus: () => this.focus(),
    });
    inbox.hold = () => Date.now() - this.#pointedAt < STILL;
    this.#box = el('div.rows', {
      'aria-label': t('Conversations'),
      role: 'region',
      tabindex: -1,
      pointermove: (event) => { if (event.pointerType === 'mouse') this.#pointedAt = Date.now(); },
      pointerleave: () => { this.#pointedAt = 0; inbox.settle(); },
      keydown: (event) => this.#key(event),
      click: (event) => this.#click(event),
    });
    this.#box.addEventListener('scroll', () => this.#scrolled(), { passive: true });
    this.#box.append(this.#pinned, this.#none);
    /** @type {Rows<Model>} */
    this.#rows = new Rows(this.#box, (model, node) => this.#drawOne(model, node));
    whenNarrow(719, (isPhone) => { this.#rows.size.row = isPhone ? 68 : 60; on.changed(); });
    new ResizeObserver(() => this.#draw()).observe(this.#box);
    this.views = new Views({ open: (view) => this.#open(view), changed: on.changed });
    this.filter = new FilterBar({ narrow: (filter) => this.#narrow(filter), views: this.views });
    inbox.touched = () => this.views.touch();
    this.root = el(
      'section.list',
      { 'aria-label': t('Inbox') },
      el(
        'header.bar',
        {},
        el('h1', {}, t('Inbox')),
        el('span.grow'),
        el(
          'button.icon-button',
          { type: 'button', 'aria-label': t('Search and commands'), click: on.search },
          icon('search'),
        ),
        this.filter.button,
      ),
      this.#tabs,
      this.views.root,
      this.filter.root,
      this.views.sheet.root,
      this.bulk.root,
      this.#box,
      foot,
    );
    // alone in the window, or beside a conversation
    whenNarrow(899, (isAlone) => this.root.setAttribute('role', isAlone ? 'main' : 'region'));
  }

  render() {
    const { counts, view } = this.#inbox;
    reconcile(
      this.#tabs,
      VIEWS.map((key) => (
        { key, on: key === view && !this.views.current, count: counts[key] })),
      (model, before) => replacing(el(
        'button',
        {
          type: 'button',
          'aria-current': model.on ? 'page' : null,
          click: () => {
            this.selection.clear();
            this.#box.scrollTop = 0;
            this.show(model.key);
          },
        },
        NAMES[model.key],
        el('span', {}, short(model.count)),
      ), before),
    );
    this.views.render();
    this.filter.render();
    this.bulk.render();
    this.#box.classList.toggle('selecting', this.bulk.isOpen);
    this.#draw();
  }

  /**
   * Shows a tab. The filters of a saved view do not apply to it, those that were chosen do.
   * @param {Tab} view
   */
  show(view) {
    if (!this.views.current) return this.#inbox.show(view);
    this.views.current = '';
    this.filter.show({});
    return this.#inbox.narrow({}, view);
  }

  /** The ids of all loaded rows, in order. */
  #order() { return this.#inbox.sections().flatMap(({ ids }) => ids); }

  /** Selects the row with the focus, or the open conversation. */
  pick() {
    const focused = document.activeElement?.closest('a.row');
    const id = focused instanceof HTMLElement && focused.dataset.id || this.#on.current();
    if (id && this.#inbox.shows(id)) this.selection.toggle(id);
  }

  /**
   * Updates the waiting times, once a second. They stop while the console is not connected.
   */
  clocks() {
    if (this.#inbox.loaded || this.#inbox.failed) this.#loadedAt = Date.now();
    if (this.#pointedAt && !this.#inbox.hold()) this.#inbox.settle();
    if (this.#on.live()) this.#inbox.tick();
    /** @type {NodeListOf<HTMLElement>} */
    const nodes = this.#box.querySelectorAll('.wait, .due');
    for (const node of nodes) {
      this.#clock(node, node.closest('a')?.dataset.id ?? '');
    }
  }

  /**
   * @param {HTMLElement} node
   * @param {string} id of the row
   */
  #clock(node, id) {
    const row = this.#inbox.rows.get(id);
    const words = node.lastChild;
    if (!row || !words) return;
    if (node.matches('.due')) {
      if (!row.due_at) return;
      const left = timeLeft(row.due_at);
      node.dataset.level = left.level;
      if (words.textContent !== left.words) words.textContent = left.words;
      return;
    }
    const until = this.#on.live() ? Date.now() : this.#on.lostAt() || Date.now();
    const seconds = Math.max(0, Math.floor(
      (until - Date.parse(row.waiting_since ?? row.created_at)) / 1000
    ));
    node.dataset.level = seconds >= 300 ? 'urgent' : seconds >= 120 ? 'soon' : '';
    const time = duration(seconds);
    const text = this.#on.live() ? time : t('over {}', time);
    if (words.textContent !== text) words.textContent = text;
  }

  /**
   * Opens the next or the previous row.
   * @param {number} step 1 or -1
   */
  move(step) {
    const order = this.#order();
    const at = order.indexOf(this.#on.current()) + step;
    const next = order[Math.min(order.length - 1, Math.max(0, at))];
    if (next) this.#on.open(next);
  }

  /** The ids of the rows in view, in order. */
  get inView() { return this.#rows.inView; }

  /** @param {string} id */
  reveal(id) { this.#rows.reveal(id); }

  /** Puts the focus on the open row, or the first. */
  focus() { focusOn(this.#box.querySelector('.row[tabindex="0"]') ?? this.#box); }

  #draw() {
    const sections = this.#inbox.sections().filter(({ ids }) => ids.length).map(
      (section) => ({ ...section, key: section.name })
    );
    const none = sections.length ? null : this.#reason();
    const said = none?.join() ?? '';
    if (this.#none.dataset.said !== said) {
      this.#none.dataset.said = said;
      this.#none.replaceChildren(...none ? [el('b', {}, none[0]), el('p', {}, none[1])] : []);
      if (none && !this.views.current && Object.keys(this.#inbox.filter).length) {
        this.#none.append(el('button.button', {
          type: 'button',
          click: () => { this.filter.show({}); this.#narrow({}); },
        }, t('Remove the filter')));
      }
    }
    this.#none.hidden = !none;
    this.#first = sections[0]?.ids[0] ?? '';
    this.#rows.show(sections);
    const current = this.#on.current();
    this.#shown = this.#inbox.shows(current) ? current : '';
    this.#scrolled(false);
    this.clocks();
  }

  /**
   * Why there are no rows, as a title and a text; null while they are being loaded.
   * @returns {[string, string]?}
   */
  #reason() {
    const { view, loaded, failed, filter } = this.#inbox;
    if (failed) return [t('The list could not be loaded'), failed];
    if (loaded) {
      if (filter.tag) return [t('No conversations with this tag'), t('Tags are set in the visitor’s panel.')];
      return Object.keys(filter).length
        ? [t('No conversations match'), t('New ones appear here automatically.')] : EMPTY[view];
    }
    return Date.now() - this.#loadedAt > SHORT_WAIT
      ? [t('Loading the list'), t('This is taking longer than usual.')] : null;
  }

  /** Runs in each frame of scrolling, so it makes only the rows that come into view. */
  #scrolled(only = true) {
    this.#rows.render((section, index) => this.#model(section, index, this.#shown), only);
    this.#on.moved();
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

  /**
   * @param {ListedSection} section
   * @param {number} index -1 for the heading
   * @param {string} current the id of the open conversation
   * @returns {Model}
   */
  #model(section, index, current) {
    if (index < 0) return this.#headModel(section);
    const id = section.ids[index];
    const row = this.#inbox.rows.get(id);
    if (!row) return { key: id, gone: true };
    return rowModel(row, {
      mine: this.#inbox.mine(row),
      wrote: this.#inbox.wrote(row),
      on: this.#on.current() === id,
      first: !current && id === this.#first,
      typing: this.#on.typing(id),
      doing: this.#on.doing(id),
      selected: this.selection.has(id),
    });
  }

  /**
   * @param {ListedSection} section
   * @returns {Heading}
   */
  #headModel({ name, title, count }) {
    const asOf = new Date(this.#inbox.asOf).toLocaleTimeString(locale);
    return {
      key: name,
      title: this.#on.live() ? title : t('{1}, as of {2}', name === 'others' ? title : NAMES[name], asOf),
      count,
    };
  }

  /**
   * @param {Model} model
   * @param {HTMLElement?} node
   */
  #drawOne(model, node) {
    if ('title' in model) return this.#heading(node ?? el('h2.section'), model);
    const row = 'gone' in model ? el('div.row') : drawRow(model);
    for (const clock of row.querySelectorAll('.wait')) {
      if (clock instanceof HTMLElement) this.#clock(clock, model.key);
    }
    return replacing(row, node);
  }

  /**
   * @param {HTMLElement} node
   * @param {Heading} model
   */
  #heading(node, { title, count }) {
    const sign = `${title}|${count}`;
    if (node.dataset.sign !== sign) {
      node.dataset.sign = sign;
      node.replaceChildren(title, el('span', {}, short(count)));
    }
    return node;
  }

  /**
   * Opens a row in the task of the click, so that the next key goes to the reply. On the box it
   * selects the row, with Shift all rows from the last one.
   * @param {MouseEvent} event
   */
  #click(event) {
    const target = targetOf(event);
    const id = target?.closest('a')?.dataset.id;
    if (!id || event.button || event.ctrlKey || event.metaKey) return;
    if (event.shiftKey) {
      event.preventDefault();
      return this.selection.extend(id, this.#order());
    }
    if (target?.closest('.pick')) {
      event.preventDefault();
      return this.selection.toggle(id);
    }
    event.preventDefault();
    this.#on.take(id);
  }

  /**
   * Arrows move the focus through the rows, with Shift they select them. Enter opens one, since it
   * is a link.
   * @param {KeyboardEvent} event
   */
  #key(event) {
    if (event.key === 'a' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      return this.selection.add(this.#order());
    }
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    const id = targetOf(event)?.closest('a')?.dataset.id;
    if (!step || !id || event.altKey) return;
    event.preventDefault();
    const order = this.#order();
    const next = order[order.indexOf(id) + step];
    if (!next) return;
    if (event.shiftKey) this.selection.add([id, next]);
    this.#rows.reveal(next);
    this.#draw();
    focusOn(this.#box.querySelector(`a[data-id="${CSS.escape(next)}"]`), { preventScroll: true });
  }

  /** @param {Filters} filter */
  #narrow(filter) {
    this.#box.scrollTop = 0;
    this.#inbox.narrow(filter);
  }

  /**
   * Shows the conversations of a saved view, or all again.
   * @param {View | null} view
   */
  #open(view) {
    this.selection.clear();
    this.filter.show(view?.filters ?? {});
    this.#box.scrollTop = 0;
    this.#inbox.narrow(this.filter.filter, 'all');
  }
}
