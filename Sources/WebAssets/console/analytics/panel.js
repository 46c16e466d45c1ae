// The frames of Analytics: a tile with one figure, and a panel with a chart, its table and its CSV.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { count } from './marks.js';
import { csv, download, table } from './tables.js';

/** @typedef {import('../../shared/dom.js').Child} Child */
/** @typedef {import('./tables.js').Cell} Cell */
/** @typedef {'wait' | 'first_response' | 'resolution'} Time */

/** The samples that a figure needs. */
export const LEAST = { p50: 3, p90: 10, rating: 5, group: 10 };

/**
 * The conversations that have the time.
 * @param {Figures} figures
 * @param {Time} time
 */
export const samplesOf = ({ claimed, answered, closed }, time) => ({
  wait: claimed, first_response: answered, resolution: closed })[time];

/**
 * P50 and P90 of a time in ms; null with too few samples.
 * @param {Figures} figures
 * @param {Time} time
 * @returns {[p50: number | null | undefined, p90: number | null | undefined]}
 */
export function timesOf(figures, time) {
  const size = samplesOf(figures, time);
  return [
    size < LEAST.p50 ? null : figures[`${time}_p50_ms`],
    size < LEAST.p90 ? null : figures[`${time}_p90_ms`],
  ];
}

/**
 * The share of 4 and 5 stars, in per cent; null with too few ratings.
 * @param {Figures} figures
 * @param {number=} least
 */
export function goodOf({ csat_count: size, csat_stars: stars }, least = LEAST.rating) {
  return size < least ? null : (stars[3] + stars[4]) / size * 100;
}

/**
 * The share of conversations that were rated, in per cent; null without a conversation.
 * @param {Figures} figures
 */
export const responseOf = ({ csat_count: size, sessions }) => (
  sessions ? size / sessions * 100 : null);

/** @param {number | null | undefined} value */
export const percent = (value) => value == null ? '–' : t('{}\u00a0%', Math.round(value));

/** @param {Figures} total */
export const ratingsOf = (total) => t('{1} of {2} conversations rated ({3})',
  count.format(total.csat_count), count.format(total.sessions), percent(responseOf(total)));

/**
 * @param {string} name
 * @param {Child | Child[]} value
 * @param {(Child | Child[])[]} lines
 */
export const tile = (name, value, ...lines) => el('div', {}, el('dt', {}, name),
  el('dd', {}, value), ...lines.map((line) => line && el('dd', {}, line)));

/** @param {string} words instead of a figure */
export const few = (words) => el('small', {}, words);

/**
 * Targets as the columns of a file.
 * @param {TargetFigures} figures
 */
export const targetColumns = ({ missed_targets: missed, due_targets: due }) => ({
  first_response_targets_due: due?.first_response,
  first_response_targets_missed: missed?.first_response,
  resolution_targets_due: due?.resolution,
  resolution_targets_missed: missed?.resolution,
});

/**
 * Figures as the columns of a file. Times are in ms.
 * @param {Figures & TargetFigures & {previous?: Figures}} figures
 * @returns {Record<string, unknown>}
 */
export function flat(figures) {
  const {
    csat_stars: stars, previous, missed_targets: missed, due_targets: due, ...rest
  } = figures;
  const before = Object.entries(previous ? flat(previous) : {});
  return {
    ...rest,
    ...Object.fromEntries(stars.map((value, at) => [`csat_${at + 1}_stars`, value])),
    ...due && targetColumns({ missed_targets: missed, due_targets: due }),
    ...Object.fromEntries(before.map(([key, value]) => [`previous_${key}`, value])),
  };
}

/**
 * A button that downloads what a panel shows.
 * @param {string} title of the panel
 * @param {string} file its name
 * @param {() => object[]} rows
 */
export const csvButton = (title, file, rows) => el('button.button.quiet.as-table', {
  type: 'button',
  'aria-label': t('{} as CSV', title),
  click: () => download(file, csv(rows())),
}, 'CSV');

/**
 * A chart with a sentence, a button that shows it as a table, and one for a file.
 * @param {{title: string, words: string, className?: string, draw: () => Element,
 *   columns: string[], rows: () => Cell[][], file: string, data: () => object[],
 *   choice?: HTMLElement}} on `draw` is called again when the table is left
 */
export function panel({ title, words, className = '', draw, columns, rows, file, data, choice }) {
  const place = el('div', {}, draw());
  const button = el('button.button.quiet.as-table', {
    type: 'button',
    'aria-pressed': 'false',
    'aria-label': t('{} as a table', title),
    click() {
      const now = button.getAttribute('aria-pressed') !== 'true';
      button.setAttribute('aria-pressed', String(now));
      place.replaceChildren(now ? table(title, columns, rows()) : draw());
    },
  }, t('Table'));
  return el(`section.panel${className}`, { 'aria-label': title },
    el('div.panel-head', {}, el('h2', {}, title), choice, button, csvButton(title, file, data)),
    el('p', {}, words), place);
}

/**
 * A row of buttons of which one is pressed.
 * @template {string} Name
 * @param {string} label
 * @param {Record<Name, string>} names their words
 * @param {Name} first the pressed one
 * @param {(name: Name) => void} chosen
 */
export function choice(label, names, first, chosen) {
  const keys = /** @type {Name[]} */ (Object.keys(names));
  const buttons = keys.map((key) => el('button', {
    type: 'button',
    'aria-pressed': String(key === first),
    click() {
      for (const [at, each] of buttons.entries()) {
        each.setAttribute('aria-pressed', String(keys[at] === key));
      }
      chosen(key);
    },
  }, names[key]));
  return el('div.segments', { role: 'group', 'aria-label': label }, ...buttons);
}
