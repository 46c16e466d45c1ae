// What visitors wrote with their ratings, newest first, each with the way to its conversation.

import { el } from '../../shared/dom.js';
import { count } from './marks.js';
import { download, sheet } from './tables.js';
import { sentence } from '../shell/rest.js';
import { remark, stars } from '../visitor/stars.js';

const PATH = 'live-chat/analytics/comments';
const PAGE = 20;
/** Of a page for a file, and of a file. */
const FILE_PAGE = 200;
const FILE_MOST = 5000;
/** Pages without any comment that are passed over at once: each stands for 2,000 ratings. */
const EMPTY_MOST = 5;
const when = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

/**
 * The next page that has any comment.
 * @param {any} rest @param {{from: string, to: string}} period @param {string=} cursor
 */
export async function commentPage(rest, period, cursor, limit = PAGE) {
  let page = await rest.get(PATH, { ...period, limit, cursor });
  for (let empty = 1; !page.comments.length && page.next_cursor && empty < EMPTY_MOST; empty += 1) {
    page = await rest.get(PATH, { ...period, limit, cursor: page.next_cursor });
  }
  return page;
}

/** At most `FILE_MOST` of them, for a file. */
async function all(rest, period) {
  const rows = [];
  let cursor;
  do {
    const page = await commentPage(rest, period, cursor, FILE_PAGE);
    rows.push(...page.comments);
    cursor = page.next_cursor;
  } while (cursor && rows.length < FILE_MOST);
  return { rows, isWhole: !cursor };
}

const item = ({ session, rating, comment, visitor, operator, at }) => el(
  'li',
  {},
  el(
    'p.meta',
    {},
    stars(rating),
    el('time', { datetime: at }, when.format(new Date(at))),
    visitor && el('bdi', {}, visitor),
    operator && el('span', {}, 'with ', el('bdi', {}, operator)),
    el('a', { href: `#${session}` }, 'View conversation'),
  ),
  el('p', {}, remark(comment)),
);

/** @param {any} page the first one */
export function comments(rest, period, page) {
  const told = el('p.meta', { role: 'status' });
  const list = el('ol', {}, ...page.comments.map(item));
  let cursor = page.next_cursor;
  const more = el(
    'button.button',
    { type: 'button', hidden: !cursor, click: () => older() },
    'Show older comments',
  );
  const file = el(
    'button.button.quiet.as-table',
    { type: 'button', hidden: !page.comments.length, click: () => save() },
    'Export comments',
  );

  /** One request at a time; what went wrong is said below the list. */
  async function busy(button, work) {
    button.disabled = true;
    told.textContent = '';
    try { told.textContent = await work(); } catch (error) { told.textContent = sentence(error); }
    button.disabled = false;
  }

  const older = () => busy(more, async () => {
    const next = await commentPage(rest, period, cursor);
    cursor = next.next_cursor;
    const first = list.children.length;
    list.append(...next.comments.map(item));
    more.hidden = !cursor;
    // The button may be gone: who reads by keys goes on at what has come.
    /** @type {HTMLElement?} */ (list.children[first]?.querySelector('a'))?.focus();
    return '';
  });

  const save = () => busy(file, async () => {
    const { rows, isWhole } = await all(rest, period);
    download(`chirrup-comments-${period.from}-${period.to}.csv`, sheet({ days: rows }));
    return isWhole ? '' : `The file contains the newest ${count.format(rows.length)} comments.`;
  });

  return el(
    'section.remarks',
    { 'aria-label': 'Comments' },
    el('div.panel-head', {}, el('h2', {}, 'Comments'), file),
    el('p', {}, page.comments.length
      ? 'What visitors wrote with their ratings, newest first.'
      : 'No comments in this period.'),
    list,
    told,
    more,
  );
}
