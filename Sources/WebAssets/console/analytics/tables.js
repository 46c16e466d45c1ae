// Figures as tables and as CSV.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';

/** @typedef {{words: string | Node, few?: boolean}} Few a cell; `few` is for too few samples */
/** @typedef {string | Node | Few} Cell */
/**
 * A column: its name, or one that a click sorts by. `order` is a value of aria-sort, or ''.
 * @typedef {string | {name: string, order: string, click: () => void}} Column
 */

/**
 * @param {string} title
 * @param {Column[]} columns
 * @param {Cell[][]} rows
 * @param {Cell[]=} foot
 */
export function table(title, columns, rows, foot) {
  /** @type {(value: Cell, at: number) => HTMLElement} */
  const cell = (value, at) => {
    const isText = typeof value === 'string' || value instanceof Node;
    const { words, few = false } = isText ? { words: value } : value;
    return at ? el(`td${few ? '.few' : ''}`, {}, words) : el('th', { scope: 'row' }, words);
  };
  /** @param {Column} column */
  const head = (column) => typeof column === 'string' ? el('th', { scope: 'col' }, column) : el(
    'th',
    { scope: 'col', 'aria-sort': column.order || null },
    el('button', { type: 'button', click: column.click }, column.name,
      column.order === 'descending' ? ' ↓' : column.order ? ' ↑' : ''),
  );
  return el(
    'div.scroll',
    { tabindex: 0, role: 'region', 'aria-label': t('{}, table', title) },
    el(
      'table',
      { 'aria-label': title },
      el('thead', {}, el('tr', {}, ...columns.map(head))),
      el('tbody', {}, ...rows.map((row) => el('tr', {}, ...row.map(cell)))),
      foot && el('tfoot', {}, el('tr', {}, ...foot.map(cell))),
    ),
  );
}

/**
 * A value as in RFC 4180. One that a spreadsheet would run as a formula gets an apostrophe.
 * @param {unknown} value
 */
const quoted = (value) => {
  const text = String(value ?? '');
  const safe = /^[=+@\t\r]|^-(?!\d)/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

/**
 * Objects as CSV, with the members of the first as columns. Times are in ms.
 * @param {object[]} rows
 */
export function csv(rows) {
  const columns = Object.keys(rows[0] ?? {});
  const values = rows.map((row) => {
    /** @type {Record<string, unknown>} */
    const members = { ...row };
    return columns.map((key) => members[key]);
  });
  return [columns, ...values].map((row) => row.map(quoted).join(',')).join('\r\n');
}

/**
 * @param {string} name of the file
 * @param {string} text
 */
export function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
  el('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
