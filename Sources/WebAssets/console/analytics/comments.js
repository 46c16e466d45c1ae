// The comments of ratings, newest first, each with a link to its conversation.

import { el } from '../../shared/dom.js';
import { count } from './marks.js';
import { csv, download } from './tables.js';
import { sentence } from '../shell/rest.js';
import { remark, stars } from '../visitor/stars.js';

const PATH = 'live-chat/analytics/comments';
const PAGE = 20; // comments of one request
const FILE_PAGE = 200; // of one request for a file
const FILE_MAX = 5000; // of a file
/** Pages without a comment that are skipped in a row; each covers 2,000 ratings. */
const EMPTY_MAX = 5;
export const when = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

/**
 * The next page that has a comment.
 * @param {Rest} rest
 * @param {Period} period
 * @param {string?=} cursor
 * @param {number=} limit
 */
export async function commentPage(rest, period, cursor, limit = PAGE) {
  let page = await rest.get(PATH, { ...period, limit, cursor });
  for (let empty = 1; !page.comments.length && page.next_cursor && empty < EMPTY_MAX; empty += 1) {
    page = await rest.get(PATH, { ...period, limit, cursor: page.next_cursor });
  }
  return page;
}

/**
 * The comments of a file, at most `FILE_MAX`.
 * @param {Rest} rest
 * @param {Period} period
 */
async function all(rest, period) {
  /** @type {RatingComment[]} */
  const rows = [];
  /** @type {string | null | undefined} */
  let cursor;
  do {
    /** @type {CommentPage} */
    const page = await commentPage(rest, period, cursor, FILE_PAGE);
    rows.push(...page.comments);
    cursor = page.next_cursor;
  } while (cursor && rows.length < FILE_MAX);
  return { rows, isWhole: !cursor };
}

/** @param {RatingComment} comment */
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

/**
 * @param {Rest} rest
 * @param {Period} period
 * @param {CommentPage} page the first one
 */
export function comments(rest, period, page) {
  const status = el('p.meta', { role: 'status' });
  const list = el('ol', {}, ...page.comments.map(item));
  let cursor = page.next_cursor;
  const more = el(
    'button.button',
    { type: 'button', hidden: !cursor, click: () => { older(); } },
    'Show older comments',
  );
  const file = el(
    'button.button.quiet.as-table',
    { type: 'button', hidden: !page.comments.length, click: () => { save(); } },
    'Export comments',
  );

  /**
   * Runs one request at a time. Its text, or its error, is shown below the list.
   * @param {HTMLButtonElement} button
   * @param {() => Promise<string>} work
   */
  async function busy(button, work) {
    button.disabled = true;
    status.textContent = '';
    try {
      status.textContent = await work();
    } catch (error) { status.textContent = sentence(error); }
    button.disabled = false;
  }

  const older = () => busy(more, async () => {
    const next = await commentPage(rest, period, cursor);
    cursor = next.next_cursor;
    const first = list.children.length;
    list.append(...next.comments.map(item));
    more.hidden = !cursor;
    // the button may be hidden now, so the first new comment gets the focus
    list.children[first]?.querySelector('a')?.focus();
    return '';
  });

  const save = () => busy(file, async () => {
    const { rows, isWhole } = await all(rest, period);
    download(`chirrup-comments-${period.from}-${period.to}.csv`, csv(rows));
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
    status,
    more,
  );
}
