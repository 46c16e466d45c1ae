// Figures as tables and as CSV.

import { el } from '../../shared/dom.js';

/**
 * @param {string} title
 * @param {(string|{name: string, order: string, click: () => void})[]} columns
 * @param {any[][]} rows cells as text, nodes, or {words, few}
 * @param {any[]=} foot
 */
export function table(title, columns, rows, foot) {
  const cell = (value, at) => {
    const { words, few = false } = value?.words === undefined ? { words: value } : value;
    return at ? el(`td${few ? '.few' : ''}`, {}, words) : el('th', { scope: 'row' }, words);
  };
  const head = (column) => typeof column === 'string' ? el('th', { scope: 'col' }, column) : el(
    'th',
    { scope: 'col', 'aria-sort': column.order || null },
    el('button', { type: 'button', click: column.click }, column.name,
      column.order === 'descending' ? ' ↓' : column.order ? ' ↑' : ''),
  );
  return el(
    'div.scroll',
    { tabindex: 0, role: 'region', 'aria-label': `${title}, table` },
    el(
      'table',
      { 'aria-label': title },
      el('thead', {}, el('tr', {}, ...columns.map(head))),
      el('tbody', {}, ...rows.map((row) => el('tr', {}, ...row.map(cell)))),
      foot && el('tfoot', {}, el('tr', {}, ...foot.map(cell))),
    ),
  );
}

/** RFC 4180; a value that a spreadsheet would run as a formula gets an apostrophe. */
const quoted = (value) => {
  const text = String(value ?? '');
  const safe = /^[=+@\t\r]|^-(?!\d)/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

/** The days as CSV, in milliseconds as the gateway gives them. */
export function sheet({ days }) {
  const columns = Object.keys(days[0] ?? {});
  return [columns, ...days.map((day) => columns.map((key) => day[key]))].map(
    (row) => row.map(quoted).join(','),
  ).join('\r\n');
}

export function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
  el('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
