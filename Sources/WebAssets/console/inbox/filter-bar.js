// The filters of the list, and the actions on the saved view that they are of.

import { el, icon } from '../../shared/dom.js';
import { api, reasonOf } from '../shell/api.js';
import { nameOfChannel, served } from '../shell/channels.js';
import { t } from '../shell/language.js';

/** @typedef {[value: string, words: string][]} Options */

/** @type {(...all: number[]) => Options} */
const minutes = (...all) => all.map((it) => [`${it}`, t('{}\u00a0min', it)]);
/** @type {(...all: number[]) => Options} */
const hours = (...all) => all.map((it) => [`${it * 60}`, t('{}\u00a0h', it)]);
/** @type {Options} */
const WAITS = [['', t('Any')], ...minutes(2, 5, 10, 30), ...hours(1, 4),
  ['1440', t('1 day')]];
/** @type {Options} */
const DUES = [['', t('Any')], ['0', t('Overdue')], ...minutes(15), ...hours(1, 4)];
/** @type {Options} */
const STATUSES = [['', t('Open')], ['waiting', t('Waiting')], ['active', t('With an operator')]];
/** @type {Options} */
const CHANNELS = [['', t('All|no filter')], ['web', nameOfChannel('web')], ...served];
const TYPING = 400; // ms after the last key before a text filters

export class FilterBar {
  #on;
  /** @type {Record<keyof Filters, HTMLSelectElement | HTMLInputElement>} */
  #fields;
  #timer = 0;
  #problem = el('p.error', { role: 'alert', hidden: true });
  /** Whether the teams, tags and operators are loaded. */
  #isFilled = false;

  /**
   * @param {{narrow: (filter: Filters) => void, views: import('./views.js').Views}} on
   */
  constructor(on) {
    this.#on = on;
    const change = () => this.#changed();
    /** @type {Record<string, HTMLSelectElement | HTMLInputElement>} */
    const fields = {};
    /**
     * @param {string} id
     * @param {string} name
     * @param {HTMLSelectElement | HTMLInputElement} field
     */
    const cell = (id, name, field) => {
      fields[id] = field;
      field.id = id;
      return el('div', {}, el('label', { for: id }, name), field);
    };
    /** @param {Options} options */
    const choice = (options = []) => {
      const box = el('select.input', { change });
      fill(box, options);
      return box;
    };
    /** @param {string} placeholder @param {number} maxlength */
    const words = (placeholder, maxlength) => el('input.input', {
      placeholder, maxlength, autocomplete: 'off', spellcheck: 'false',
      input: () => { clearTimeout(this.#timer); this.#timer = setTimeout(change, TYPING); },
    });
    /** @param {string} text @param {() => void} act */
    const link = (text, act) => el('button.link', { type: 'button', click: act }, text);
    this.#save = link(t('Save as view'), () => on.views.edit(this.filter));
    this.#update = link(t('Save changes'), () => { this.#replace(); });
    this.#rename = link(t('Rename'), () => { on.views.edit(this.filter, on.views.view); });
    this.#remove = link(t('Delete'), () => on.views.remove());
    this.#clear = link(t('Clear'), () => { this.show({}); this.#changed(); });
    this.root = el('div.filter', { hidden: true, id: 'filter', role: 'group', 'aria-label': t('Filters') },
      cell('team', t('Team'), choice()), cell('tag', t('Tag'), choice()),
      cell('assignee', t('Operator'), choice()), cell('status', t('Status'), choice(STATUSES)),
      cell('waiting_minutes', t('Waits at least'), choice(WAITS)),
      cell('due_minutes', t('Due within'), choice(DUES)), cell('language', t('Language'), words('de', 35)),
      cell('attribute', t('Attribute'), words('plan=pro', 577)),
      cell('channel', t('Channel'), choice(CHANNELS)),
      el('div.filter-ends', {}, this.#save, this.#update, this.#rename, this.#remove, this.#clear),
      this.#problem);
    this.#fields = /** @type {Record<keyof Filters, HTMLSelectElement | HTMLInputElement>} */ (
      fields);
    this.button = el(
      'button.icon-button',
      {
        type: 'button',
        'aria-label': t('Filter'),
        'aria-expanded': 'false',
        'aria-controls': 'filter',
        click: () => { this.toggle(); },
      },
      icon('sliders'),
    );
  }

  #save;
  #update;
  #rename;
  #remove;
  #clear;

  /** @returns {Filters} without those that are empty */
  get filter() {
    /** @type {Record<string, string | number>} */
    const filter = {};
    for (const [name, { value }] of Object.entries(this.#fields)) {
      const text = value.trim();
      if (!text) continue;
      // a tag or a name that is still being typed would be refused
      if (name === 'attribute' && !/^[^=]+=/.test(text)) continue;
      if (name === 'language' && !/^[a-z]{2,8}(-[a-z0-9]{1,8})*$/i.test(text)) continue;
      filter[name] = name.endsWith('_minutes') ? Number(text) : text;
    }
    return filter;
  }

  /** @param {Filters} filter */
  show(filter) {
    for (const [name, field] of Object.entries(this.#fields)) {
      const value = String(filter[/** @type {keyof Filters} */ (name)] ?? '');
      // the options are loaded when the bar opens; the view may have one that is gone
      choose(field, name === 'status' && value === 'open' ? '' : value,
        name.endsWith('_minutes') ? t('{}\u00a0min', value) : value);
    }
    this.render();
  }

  /** Offers what can be done with these filters and the view that is shown. */
  render() {
    const { view } = this.#on.views;
    const { filter } = this;
    const saved = view && { ...view.filters };
    if (saved?.status === 'open') delete saved.status;
    const isChanged = !!saved && sign(saved) !== sign(filter);
    this.#save.hidden = !Object.keys(filter).length || (!!view && !isChanged);
    this.#update.hidden = !view?.may_change || !isChanged;
    this.#rename.hidden = this.#remove.hidden = !view?.may_change;
    this.#clear.hidden = !Object.keys(filter).length;
    this.button.toggleAttribute('data-on', Object.keys(filter).length > 0);
  }

  async toggle(show = this.root.hidden) {
    this.root.hidden = !show;
    this.button.setAttribute('aria-expanded', String(show));
    if (!show) {
      // the filters of a saved view stay: its button in the row shows them
      if (!this.#on.views.current && Object.keys(this.filter).length) {
        this.show({});
        this.#changed();
      }
      return;
    }
    this.#fields.team.focus();
    if (this.#isFilled) return;
    const { team, tag, assignee } = this.#fields;
    this.#isFilled = (await Promise.all([
      load(team, [['', t('All|no filter')], ['none', t('No team')]], t('Teams could not be loaded'),
        async () => (await api.teams()).map(({ id, name }) => [id, name])),
      load(tag, [['', t('All|no filter')]], t('Tags could not be loaded'),
        async () => (await api.tags()).map(({ name }) => [name, name])),
      load(assignee, [['', t('All|no filter')], ['me', t('Me')], ['none', t('Nobody')]],
        t('Operators could not be loaded'),
        async () => (await api.members()).map(({ id, name }) => [id, name])),
    ])).every(Boolean);
  }

  #changed() {
    this.#problem.hidden = true;
    this.#on.narrow(this.filter);
    this.render();
  }

  async #replace() {
    try {
      await this.#on.views.update(this.filter);
    } catch (error) {
      this.#problem.hidden = false;
      this.#problem.textContent = reasonOf(error, t('The server is not responding. Try again.'));
    }
  }
}

/** @param {Filters} filters */
const sign = (filters) => JSON.stringify(Object.entries(filters).sort());

/**
 * @param {HTMLElement} box
 * @param {Options} options
 */
const fill = (box, options) => {
  box.replaceChildren(...options.map(([value, words]) => el('option', { value }, words)));
};

/**
 * @param {HTMLSelectElement | HTMLInputElement} box
 * @param {string} value
 * @param {string} words of the option, if the select has none of this value
 */
const choose = (box, value, words = value) => {
  const isThere = box instanceof HTMLInputElement
    || [...box.options].some((option) => option.value === value);
  if (!isThere) box.append(el('option', { value }, words));
  box.value = value;
};

/**
 * Fills a select, and keeps its value. Returns whether the options are there.
 * @param {HTMLSelectElement | HTMLInputElement} box
 * @param {Options} first
 * @param {string} failure what is shown if the options do not come
 * @param {() => Promise<string[][]>} ask values and words
 */
async function load(box, first, failure, ask) {
  const { value } = box;
  fill(box, first);
  const options = await ask().catch(() => null);
  box.append(...options?.map(([id, words]) => el('option', { value: id }, words))
    ?? [el('option', { disabled: true }, failure)]);
  choose(box, value);
  return !!options;
}
