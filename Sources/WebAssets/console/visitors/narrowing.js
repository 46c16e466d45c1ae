// What narrows the list of visitors: a state, and filters with the number of visitors that each
// value leaves, as the gateway counts them.

import { el, icon } from '../../shared/dom.js';
import { locale, t } from '../shell/language.js';
import { regionOf } from './words.js';

/** @typedef {Record<string, string>} Narrowed the query, without the values of all */
/** @typedef {{value: string, count: number}} Counted */

/** @type {[value: string, words: string][]} */
const STATES = [['', t('Everyone')], ['waiting', t('Waiting')], ['chatting', t('In a conversation')],
  ['browsing', t('Browsing')], ['away', t('Away')]];
/** @type {[value: string, words: string][]} */
const TIMES = [['60', t('{} min or longer', 1)], ['300', t('{} min or longer', 5)],
  ['900', t('{} min or longer', 15)]];
/** @type {[value: string, words: string][]} */
const SORTS = [['waiting', t('Waiting first')], ['newest', t('Newest first')],
  ['page', t('Longest on page first')], ['pages', t('Most pages first')]];

/**
 * A filter: its name in the query, its words, those of all values, the member of the counts, and
 * the words of a value.
 * @type {[name: string, title: string, all: string, counts: keyof PresentVisitorCounts | '',
 *   words: (value: string) => string][]}
 */
const FILTERS = [
  ['path', t('Page'), t('any|page'), 'paths', (value) => value || t('Unknown')],
  ['source', t('Came from'), t('anywhere'), 'sources', (value) => value || t('Direct')],
  ['country', t('Country'), t('any|country'), 'countries', (value) => value ? regionOf(value) : t('Unknown')],
  ['visit', t('Visit'), t('any|visit'), 'visits', (value) => value === 'new' ? t('New') : t('Returning')],
  ['seconds_min', t('On site'), t('any time'), '', (value) => (
    TIMES.find(([seconds]) => seconds === value)?.[1] ?? value
  )],
];
/** The option of all values: a source or a country may be the empty text. */
const ALL = '*';

export class Narrowing {
  #changed;
  #state = '';
  #tabs = STATES.map(([value, words]) => el('button', { type: 'button', click: () => {
    this.#state = value;
    this.#apply();
  } }, words, ' ', el('span')));
  /** @type {Map<string, HTMLSelectElement>} */
  #picks = new Map();
  #sort = el('select', { change: () => this.#apply() },
    ...SORTS.map(([value, words]) => el('option', { value }, words)));
  #clear = el('button.link', { type: 'button', hidden: true, click: () => this.clear() },
    t('Clear filters'));

  /** @param {() => void} changed */
  constructor(changed) {
    this.#changed = changed;
    const chips = FILTERS.map(([name, title, all]) => {
      const pick = el('select', { change: () => this.#apply() },
        el('option', { value: ALL }, all));
      this.#picks.set(name, pick);
      return chip(title, pick);
    });
    this.tabs = el('div.tabs.vis-tabs', { role: 'group', 'aria-label': t('State') }, ...this.#tabs);
    this.filters = el('div.vis-filters', { role: 'group', 'aria-label': t('Filters') }, ...chips,
      this.#clear, el('span.grow'), chip(t('Order'), this.#sort));
    this.#mark();
  }

  /** @returns {Narrowed} */
  get query() {
    /** @type {Narrowed} */
    const query = this.#state ? { state: this.#state } : {};
    for (const [name, { value }] of this.#picks) if (value !== ALL) query[name] = value;
    if (this.#sort.value !== SORTS[0][0]) query.sort = this.#sort.value;
    return query;
  }

  /** Whether some visitors may be left out. */
  get isNarrow() { return Object.keys(this.query).some((name) => name !== 'sort'); }

  clear() {
    this.#state = '';
    for (const pick of this.#picks.values()) pick.value = ALL;
    this.#apply();
    this.#tabs[0].focus();
  }

  #apply() {
    this.#mark();
    this.#changed();
  }

  #mark() {
    STATES.forEach(([value], at) => {
      this.#tabs[at].setAttribute('aria-pressed', String(value === this.#state));
    });
    let isSet = false;
    for (const pick of this.#picks.values()) {
      const isOn = pick.value !== ALL;
      pick.parentElement?.toggleAttribute('data-on', isOn);
      isSet ||= isOn;
    }
    this.#clear.hidden = !isSet;
  }

  /** @param {PresentVisitors} known */
  draw({ counts }) {
    const states = new Map(counts.states.map(({ value, count }) => [value, count]));
    const all = counts.states.reduce((sum, { count }) => sum + count, 0);
    STATES.forEach(([value, words], at) => {
      const count = value ? states.get(value) ?? 0 : all;
      this.#tabs[at].replaceChildren(words, ' ', el('span', {}, count.toLocaleString(locale)));
    });
    for (const [name, , every, member, wordsOf] of FILTERS) {
      const pick = this.#picks.get(name);
      // an open list does not change under the pointer
      if (!pick || pick === document.activeElement) continue;
      const counted = member ? counts[member]
        : TIMES.map(([value]) => ({ value, count: -1 }));
      this.#fill(pick, every, counted, wordsOf);
    }
  }

  /**
   * @param {HTMLSelectElement} pick
   * @param {string} all
   * @param {Counted[]} counted
   * @param {(value: string) => string} wordsOf
   */
  #fill(pick, all, counted, wordsOf) {
    const { value: chosen } = pick;
    // the chosen value stays, also when its last visitor has left
    const isThere = chosen === ALL || counted.some(({ value }) => value === chosen);
    const options = isThere ? counted : [...counted, { value: chosen, count: 0 }];
    const sign = JSON.stringify(options);
    if (pick.dataset.sign === sign) return;
    pick.dataset.sign = sign;
    pick.replaceChildren(el('option', { value: ALL }, all), ...options.map(({ value, count }) => (
      el('option', { value }, count < 0 ? wordsOf(value)
        : `${wordsOf(value)} (${count.toLocaleString(locale)})`)
    )));
    pick.value = chosen;
  }
}

/**
 * @param {string} title
 * @param {HTMLSelectElement} pick
 */
const chip = (title, pick) => el('label.vis-pick', {}, `${title}: `, pick, icon('down', 'small'));
