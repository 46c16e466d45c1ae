// The ratings of a period, newest first, each with its comment and a link to its conversation.

import { el } from '../../shared/dom.js';
import { locale, pieces, t } from '../shell/language.js';
import { nameOf } from './groups.js';
import { count, longDay } from './marks.js';
import { csv, download } from './tables.js';
import { sentence } from '../shell/rest.js';
import { remark, stars } from '../visitor/stars.js';

/** @typedef {import('./groups.js').Groups} Groups */

const PATH = 'live-chat/analytics/ratings';
const PAGE = 20; // ratings of one request
const FILE_PAGE = 200; // of one request for a file
const FILE_MAX = 5000; // of a file
/** Pages without a rating that are skipped in a row; each covers 2,000 ratings. */
const EMPTY_MAX = 5;
export const when = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });

/**
 * The next page that has a rating.
 * @param {Rest} rest
 * @param {Query} query period and filter
 * @param {string?=} cursor
 * @param {number=} limit
 */
async function ratingPage(rest, query, cursor, limit = PAGE) {
  let page = await rest.get(PATH, { ...query, limit, cursor });
  for (let empty = 1; !page.ratings.length && page.next_cursor && empty < EMPTY_MAX; empty += 1) {
    page = await rest.get(PATH, { ...query, limit, cursor: page.next_cursor });
  }
  return page;
}

/**
 * The ratings of a file, at most `FILE_MAX`.
 * @param {Rest} rest
 * @param {Query} query
 */
async function all(rest, query) {
  /** @type {ListedRating[]} */
  const rows = [];
  /** @type {string | null | undefined} */
  let cursor;
  do {
    /** @type {RatingPage} */
    const page = await ratingPage(rest, query, cursor, FILE_PAGE);
    rows.push(...page.ratings);
    cursor = page.next_cursor;
  } while (cursor && rows.length < FILE_MAX);
  return { rows: rows.map((row) => ({ ...row, tags: row.tags.join(', ') })), isWhole: !cursor };
}

/** @param {ListedRating} rating */
const item = ({ session, rating, comment, visitor, operator, team, tags, day, at }) => el(
  'li',
  {},
  el(
    'p.meta',
    {},
    stars(rating),
    el('time', { datetime: at, title: t('The conversation began on {}', longDay(day)) },
      when.format(new Date(at))),
    visitor && el('bdi', {}, visitor),
    operator && el('span', {}, ...pieces('with {}', el('bdi', {}, operator))),
    team && el('span', {}, ...pieces('team {}', el('bdi', {}, team))),
    ...tags.map((tag) => el('bdi.chip', {}, tag)),
    session ? el('a', { href: `#${session}` }, t('View conversation'))
      : el('span', {}, t('Conversation deleted')),
  ),
  comment && el('p', {}, remark(comment)),
);

/**
 * A select of what ratings are narrowed to.
 * @param {string} name
 * @param {string} all the words of no choice
 * @param {[value: string, words: string][]} options
 * @param {() => void} change
 */
const narrow = (name, all, options, change) => el(
  'select.input',
  { 'aria-label': name, change, hidden: !options.length },
  el('option', { value: '' }, all),
  ...options.map(([value, words]) => el('option', { value }, words)),
);

/**
 * The fields that narrow the list, by the names of the route's parameters.
 * @param {Groups?} groups those of the period, to choose from
 * @param {() => void} change
 */
const filters = (groups, change) => ({
  rating: narrow(t('Rating'), t('Any rating'), [5, 4, 3, 2, 1].map((value) => [
    String(value), value === 1 ? t('1 star') : t('{} stars', value)]), change),
  ...groups && {
    operator: narrow(t('Operator'), t('Any operator'), groups.operators.map((one) => [
      one.id ?? '', nameOf('operators', one)]), change),
    team: narrow(t('Team'), t('Any team'), groups.teams.map((one) => [one.id ?? '', nameOf('teams', one)]), change),
    channel: narrow(t('Channel'), t('Any channel'), groups.channels.map((one) => [
      one.name, nameOf('channels', one)]), change),
    tag: narrow(t('Tag'), t('Any tag'), groups.tags.map(({ name }) => [name, name]), change),
  },
  comments: narrow(t('Comment'), t('Any comment'), [['only', t('With a comment')]], change),
});

class Ratings {
  #rest;
  #period;
  #fields;
  #status = el('p.meta', { role: 'status' });
  #list = el('ol');
  #more = el('button.button', { type: 'button', hidden: true, click: () => { this.#older(); } },
    t('Show older ratings'));
  #file = el('button.button.quiet.as-table', {
    type: 'button', 'aria-label': t('Ratings as CSV'), click: () => { this.#save(); } }, 'CSV');
  /** @type {string?} */
  #cursor = null;
  #turn = 0;

  /**
   * @param {Rest} rest
   * @param {Period & Query} period
   * @param {Groups?} groups
   */
  constructor(rest, period, groups) {
    this.#rest = rest;
    this.#period = period;
    this.#fields = filters(groups, () => { this.#load(); });
    this.root = el(
      'section.remarks',
      { 'aria-label': t('Ratings') },
      el('div.panel-head', {}, el('h2', {}, t('Ratings')), this.#file),
      el('div.choices', { role: 'group', 'aria-label': t('Filters') }, ...Object.values(this.#fields)),
      el('p', {}, t('Those of the conversations that began in this period, the newest day first.')),
      this.#list,
      this.#status,
      this.#more,
    );
    this.#load();
  }

  /** @returns {Query} */
  get #query() {
    return { ...this.#period, ...Object.fromEntries(Object.entries(this.#fields).map(
      ([key, { value }]) => [key, value || null])) };
  }

  /**
   * Runs one request at a time. Its text, or its error, is shown below the list.
   * @param {HTMLButtonElement} button
   * @param {() => Promise<string>} work
   */
  async #busy(button, work) {
    button.disabled = true;
    this.#status.textContent = '';
    try {
      this.#status.textContent = await work();
    } catch (error) { this.#status.textContent = sentence(error); }
    button.disabled = false;
  }

  async #load() {
    const turn = ++this.#turn;
    this.#list.setAttribute('aria-busy', 'true');
    /** @type {RatingPage} */
    let page = { ratings: [], next_cursor: null };
    let words = '';
    try {
      page = await ratingPage(this.#rest, this.#query);
      const isNarrow = Object.values(this.#fields).some(({ value }) => value);
      if (!page.ratings.length) {
        words = isNarrow ? t('No rating matches these filters.') : t('No ratings in this period.');
      }
    } catch (error) { words = sentence(error); }
    if (turn !== this.#turn) return;
    this.#list.replaceChildren(...page.ratings.map(item));
    this.#status.textContent = words;
    this.#cursor = page.next_cursor;
    this.#more.hidden = !this.#cursor;
    this.#list.removeAttribute('aria-busy');
  }

  #older() {
    return this.#busy(this.#more, async () => {
      const turn = this.#turn;
      const next = await ratingPage(this.#rest, this.#query, this.#cursor);
      if (turn !== this.#turn) return '';
      this.#cursor = next.next_cursor;
      const first = this.#list.children.length;
      this.#list.append(...next.ratings.map(item));
      this.#more.hidden = !this.#cursor;
      // the button may be hidden now, so the first new rating gets the focus
      this.#list.children[first]?.querySelector('a')?.focus();
      return '';
    });
  }

  #save() {
    return this.#busy(this.#file, async () => {
      const { from, to } = this.#period;
      const { rows, isWhole } = await all(this.#rest, this.#query);
      download(`chirrup-ratings-${from}-${to}.csv`, csv(rows));
      return isWhole ? '' : t('The file contains the newest {} ratings.', count.format(rows.length));
    });
  }
}

/**
 * The list of a period, and the fields that narrow it.
 * @param {Rest} rest
 * @param {Period & Query} period and what else the requests are limited to
 * @param {Groups?} groups those of the period, to choose from
 */
export const ratings = (rest, period, groups) => new Ratings(rest, period, groups).root;
