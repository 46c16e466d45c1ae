// The field for the opening hours of a week: a line for each day, with up to three times.

import { el } from '../../shared/dom.js';
import { locale, t } from '../shell/language.js';
import { find } from '../shell/element.js';
import { uid } from './form.js';

const PATH = 'hours.days';
const TIMES_MAX = 3; // openings of one day
const USUAL = { from: '09:00', to: '17:00' };
const LATE = '20:00'; // the end of another time
const MONDAY = Date.UTC(2024, 0, 1); // a Monday
const dayName = new Intl.DateTimeFormat(locale, { weekday: 'long', timeZone: 'UTC' });

export const DAY = 86_400_000; // ms
export const DAYS = [1, 2, 3, 4, 5, 6, 7]; // Monday is 1

/** @param {number} day */
export const nameOf = (day) => dayName.format(new Date(MONDAY + (day - 1) * DAY));

/** @typedef {Opening & {at: number}} Line `at` is the index among all openings */

/** @param {import('./form.js').Form<unknown>} form */
export const weekField = (form) => new WeekField(form).root;

class WeekField {
  #form;
  #lines = el('div.week');
  /** The openings that are drawn, as JSON. */
  #drawn = '';

  /** @param {import('./form.js').Form<unknown>} form */
  constructor(form) {
    this.#form = form;
    const problem = el('p.error', { role: 'alert', hidden: true });
    const root = el('fieldset.field', {}, el('legend.label', {}, t('Hours')), this.#lines, problem);
    this.root = form.bind(PATH, { root, control: null, problem, write: () => this.#draw() });
  }

  /** @returns {Opening[]} */
  get #all() { return this.#form.get(PATH) ?? []; }

  /**
   * @param {Opening[]} next
   * @param {boolean=} redraw false while a time is being typed
   */
  #set(next, redraw = true) {
    this.#drawn = redraw ? '' : JSON.stringify(next);
    this.#form.put(PATH, next);
    if (redraw) this.#draw();
  }

  #draw() {
    const sign = JSON.stringify(this.#all);
    if (sign === this.#drawn) return;
    this.#drawn = sign;
    this.#lines.replaceChildren(...DAYS.map((day) => this.#line(day)));
  }

  /** @param {number} day */
  #line(day) {
    const id = uid();
    const isLocked = !!this.#form.locked;
    const own = this.#all.map((one, at) => ({ ...one, at })).filter((one) => one.day === day);
    const open = el('input', {
      id,
      type: 'checkbox',
      disabled: isLocked,
      change: () => { this.#open(day, open.checked); },
    });
    open.checked = own.length > 0;
    return el(
      'div.weekday',
      { role: 'group', 'aria-label': nameOf(day) },
      el('label', { for: id }, open, el('span', {}, nameOf(day))),
      el(
        'div.times',
        {},
        ...own.map((one) => this.#times(one, own.length > 1 && !isLocked)),
        !own.length && el('span.meta', {}, t('Closed|day')),
        own.length > 0 && own.length < TIMES_MAX && !isLocked && this.#more(own[own.length - 1]),
      ),
    );
  }

  /**
   * @param {number} day
   * @param {boolean} isOpen
   */
  #open(day, isOpen) {
    this.#set(isOpen ? [...this.#all, { day, ...USUAL }]
      : this.#all.filter((one) => one.day !== day));
    find(this.#lines.children[day - 1], 'input', HTMLInputElement)?.focus();
  }

  /**
   * One opening.
   * @param {Line} one
   * @param {boolean} isRemovable
   */
  #times(one, isRemovable) {
    const remove = () => this.#set(this.#all.filter((_, at) => at !== one.at));
    return el('span.times-line', {}, this.#time(one, 'from'), t('to|time'), this.#time(one, 'to'),
      isRemovable && el('button.link.quiet-link', {
        type: 'button',
        'aria-label': t('Remove {1} to {2} on {3}', one.from, one.to, nameOf(one.day)),
        click: remove,
      }, t('Remove')));
  }

  /**
   * @param {Line} one
   * @param {'from' | 'to'} key
   */
  #time(one, key) {
    const control = el('input.input', {
      type: 'time',
      'aria-label': key === 'from' ? t('{}, from', nameOf(one.day)) : t('{}, to', nameOf(one.day)),
      disabled: !!this.#form.locked,
      input: () => {
        const { value } = control;
        const next = this.#all.map((each, at) => at === one.at ? { ...each, [key]: value } : each);
        this.#set(next, false);
      },
    });
    control.value = one[key];
    return control;
  }

  /** @param {Line} last of the day */
  #more({ day, to }) {
    return el('button.link.quiet-link', {
      type: 'button',
      'aria-label': t('Add hours on {}', nameOf(day)),
      click: () => this.#set([...this.#all, { day, from: to, to: LATE }]),
    }, t('Add hours'));
  }
}
