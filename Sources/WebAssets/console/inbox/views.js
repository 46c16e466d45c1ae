// The saved views: their row below the tabs, with the number of conversations in each, and the
// sheets that save, rename and delete them. The gateway counts.

import { el, icon, reconcile } from '../../shared/dom.js';
import { api, reasonOf } from '../shell/api.js';
import { find, focusOn, replacing } from '../shell/element.js';
import { t } from '../shell/language.js';
import { buttons, Sheet } from '../thread/sheet.js';
import { short } from './row.js';

const COUNT_EVERY = 4000; // ms between two requests of the counts
const LOOK_EVERY = 30_000; // ms; while there are no views, a colleague may share one
const COUNT_MAX = 1000; // the gateway counts no further

/** @param {number} count */
const counted = (count) => (count < COUNT_MAX ? short(count) : `${short(COUNT_MAX)}+`);

export class Views {
  /**
   * Those of the workspace and the operator's own, by name.
   * @type {View[]}
   */
  all = [];
  /** The id of the view that is shown, or ''. */
  current = '';
  #on;
  #timer = 0;
  #isStale = false;
  #isLoading = false;

  /** @param {{open: (view: View | null) => void, changed: () => void}} on */
  constructor(on) {
    this.#on = on;
    this.root = el('nav.views', { 'aria-label': t('Saved views'), hidden: true });
    this.sheet = new Sheet();
    this.#problem = el('p.error', { role: 'alert', hidden: true });
  }

  #problem;

  get view() { return this.all.find(({ id }) => id === this.current); }

  render() {
    this.root.hidden = !this.all.length;
    reconcile(
      this.root,
      this.all.map(({ id, name, count, is_shared: isShared }) => (
        { key: id, name, count, isShared, on: id === this.current })),
      (model, before) => replacing(el(
        'button',
        {
          type: 'button',
          'aria-current': model.on ? 'page' : null,
          title: model.isShared ? model.name : t('{} (only you)', model.name),
          click: () => this.show(model.on ? '' : model.key),
        },
        !model.isShared && icon('person', 'small'),
        el('span.truncate', { dir: 'auto' }, model.name),
        el('span.number', {}, counted(model.count)),
      ), before),
    );
  }

  /** @param {string} id '' for none */
  show(id) {
    this.current = id;
    this.#on.open(this.view ?? null);
  }

  /** Requests the views and their counts: at once, then again after a pause. */
  touch() {
    this.#isStale = true;
    if (!this.#timer && !this.#isLoading) this.#load();
  }

  async #load() {
    this.#isStale = false;
    this.#isLoading = true;
    try {
      this.#take(await api.views());
    } catch {
      this.#isStale = true;
    }
    this.#isLoading = false;
    this.#timer = setTimeout(() => {
      this.#timer = 0;
      if (this.#isStale) this.touch();
    }, this.all.length ? COUNT_EVERY : LOOK_EVERY);
    this.#on.changed();
  }

  /**
   * A colleague may have changed or deleted the view that is shown.
   * @param {View[]} all
   */
  #take(all) {
    const before = this.view;
    this.all = all;
    const { view } = this;
    if (before && JSON.stringify(before.filters) !== JSON.stringify(view?.filters)) {
      this.show(view ? view.id : '');
    }
  }

  // MARK: sheets

  /**
   * Saves filters as a new view, or the name of a view.
   * @param {Filters} filters
   * @param {View=} view
   */
  edit(filters, view) {
    const name = el('input.input', {
      id: 'view-name', maxlength: 100, required: true, dir: 'auto', autocomplete: 'off',
      value: view?.name ?? '',
    });
    const isShared = el('input', { type: 'checkbox', checked: view?.is_shared });
    this.#open(view ? t('Rename this view') : t('Save as a view'), view ? t('Save') : t('Save view'), [
      el('label.label', { for: 'view-name' }, t('Name')),
      name,
      el('label.check', {}, isShared, el('span', {}, t('Shared with all operators'))),
    ], async () => {
      const body = { name: name.value, is_shared: isShared.checked };
      const answer = view ? await api.changeView(view.id, body)
        : await api.addView({ ...body, filters });
      this.#put(answer.view);
    });
  }

  /** @param {Filters} filters */
  async update(filters) {
    const { view } = this;
    if (!view) return;
    this.#put((await api.changeView(view.id, { filters })).view);
  }

  remove() {
    const { view } = this;
    if (!view) return;
    const words = view.is_shared ? t('All operators lose it. Its conversations remain.')
      : t('Its conversations remain.');
    this.#open(t('Delete “{}”', view.name), t('Delete view'), [el('p.meta', {}, words)], async () => {
      await api.removeView(view.id);
      this.all = this.all.filter(({ id }) => id !== view.id);
      this.show('');
    });
  }

  /**
   * @param {string} title
   * @param {string} words of the button
   * @param {Element[]} parts
   * @param {() => Promise<void>} act
   */
  #open(title, words, parts, act) {
    this.#problem.hidden = true;
    const end = buttons(words, () => this.sheet.close());
    this.sheet.open(title, [...parts, this.#problem, end], async () => {
      const submit = find(end, '[type=submit]', HTMLButtonElement);
      if (submit) submit.disabled = true;
      try {
        await act();
        this.sheet.close();
        this.render();
        // the button that opened the sheet may be gone
        focusOn(this.root.querySelector('[aria-current]') ?? this.root.querySelector('button'));
      } catch (error) {
        this.#problem.hidden = false;
        this.#problem.textContent = reasonOf(error, t('The server is not responding. Try again.'));
        if (submit) submit.disabled = false;
      }
      this.#on.changed();
    });
  }

  /** @param {View} view */
  #put(view) {
    this.all = [...this.all.filter(({ id }) => id !== view.id), view]
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    this.show(view.id);
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.touch();
  }
}
