// The filters of the list, and the actions on the saved view that they are of.

import { el, icon } from '../../shared/dom.js';
import { api, reasonOf } from '../shell/api.js';

/** @typedef {[value: string, words: string][]} Options */

/** @type {Options} */
const WAITS = [['', 'Any'], ['2', '2 min'], ['5', '5 min'], ['10', '10 min'], ['30', '30 min'],
  ['60', '1 h'], ['240', '4 h'], ['1440', '1 day']];
/** @type {Options} */
const DUES = [['', 'Any'], ['0', 'Overdue'], ['15', '15 min'], ['60', '1 h'], ['240', '4 h']];
/** @type {Options} */
const STATUSES = [['', 'Open'], ['waiting', 'Waiting'], ['active', 'With an operator']];
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
    /** @param {string} id */
    const choice = (id) => el('select.input', { id, change });
    /** @param {string} id @param {string} placeholder @param {number} maxlength */
    const words = (id, placeholder, maxlength) => el('input.input', {
      id, placeholder, maxlength, autocomplete: 'off', spellcheck: 'false',
      input: () => { clearTimeout(this.#timer); this.#timer = setTimeout(change, TYPING); },
    });
    this.#fields = {
      team: choice('team'),
      tag: choice('tag'),
      assignee: choice('assignee'),
      status: choice('status'),
      waiting_minutes: choice('waits'),
      due_minutes: choice('due'),
      language: words('language', 'de', 35),
      attribute: words('attribute', 'plan=pro', 577),
    };
    fill(this.#fields.status, STATUSES);
    fill(this.#fields.waiting_minutes, WAITS);
    fill(this.#fields.due_minutes, DUES);
    /** @param {string} name @param {HTMLElement} field */
    const cell = (name, field) => el('div', {}, el('label', { for: field.id }, name), field);
    const {
      team, tag, assignee, status, waiting_minutes: waits, due_minutes: due, language, attribute,
    } = this.#fields;
    /** @param {string} text @param {() => void} act */
    const link = (text, act) => el('button.link', { type: 'button', click: act }, text);
    this.#save = link('Save as view', () => on.views.edit(this.filter));
    this.#update = link('Save changes', () => { this.#replace(); });
    this.#rename = link('Rename', () => { on.views.edit(this.filter, on.views.view); });
    this.#remove = link('Delete', () => on.views.remove());
    this.#clear = link('Clear', () => { this.show({}); this.#changed(); });
    this.root = el('div.filter', { hidden: true, id: 'filter', role: 'group', 'aria-label': 'Filters' },
      cell('Team', team), cell('Tag', tag), cell('Operator', assignee), cell('Status', status),
      cell('Waits at least', waits), cell('Due within', due), cell('Language', language),
      cell('Attribute', attribute),
      el('div.filter-ends', {}, this.#save, this.#update, this.#rename, this.#remove, this.#clear),
      this.#problem);
    this.button = el(
      'button.icon-button',
      {
        type: 'button',
        'aria-label': 'Filter',
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
      const isOption = field instanceof HTMLInputElement
        || [...field.options].some((option) => option.value === value);
      const words = name.endsWith('_minutes') ? `${value} min` : value;
      if (!isOption) field.append(el('option', { value }, words));
      field.value = value === 'open' && name === 'status' ? '' : value;
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
      load(team, [['', 'All'], ['none', 'No team']], 'Teams',
        async () => (await api.teams()).map(({ id, name }) => [id, name])),
      load(tag, [['', 'All']], 'Tags',
        async () => (await api.tags()).map(({ name }) => [name, name])),
      load(assignee, [['', 'All'], ['me', 'Me'], ['none', 'Nobody']], 'Operators',
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
      this.#problem.textContent = reasonOf(error, 'The server is not responding. Try again.');
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
 * Fills a select, and keeps its value. Returns whether the options are there.
 * @param {HTMLSelectElement | HTMLInputElement} box
 * @param {Options} first
 * @param {string} noun of all options
 * @param {() => Promise<string[][]>} ask values and words
 */
async function load(box, first, noun, ask) {
  const { value } = box;
  const before = [...box.children];
  fill(box, first);
  let isThere = true;
  try {
    box.append(...(await ask()).map(([id, words]) => el('option', { value: id }, words)));
  } catch {
    isThere = false;
    box.append(el('option', { disabled: true }, `${noun} could not be loaded`));
  }
  /** @param {Element} option */
  const isOwn = (option) => option instanceof HTMLOptionElement && option.value === value;
  const own = before.find(isOwn);
  if (own && ![...box.children].some(isOwn)) box.append(own);
  box.value = value;
  return isThere;
}
