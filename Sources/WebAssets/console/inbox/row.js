// One row of the list: its model and its element.

import { el, icon, tick } from '../../shared/dom.js';
import { face } from '../../shared/thread.js';
import { authorOf, faceOf, nameOf, pathOf, unreadOf } from './inbox.js';
import { channelOf } from '../shell/channels.js';
import { locale, t } from '../shell/language.js';
import { stars } from '../visitor/stars.js';

/**
 * @param {import('./inbox.js').Row} row
 * @param {{mine: boolean, wrote: boolean, on: boolean, first: boolean, typing: string,
 *   doing: string, selected: boolean}} more `wrote`: the operator wrote the last message; `on`: it
 *   is open; `typing`: the text that the visitor is typing; `doing`: that they are not there
 */
export function rowModel(row, { mine, wrote, on, first, typing, doing, selected }) {
  const last = row.last_message;
  const who = wrote ? t('You') : last?.role === 'bot' ? t('Bot') : authorOf(row)?.name;
  const rating = row.status === 'closed' && row.rating || 0;
  const words = rating && row.rating_comment ? `“${row.rating_comment}”`
    : who ? t('{1}: {2}', who, last?.preview) : last?.preview ?? '';
  const read = row.visitor_read_seq >= row.last_seq - 1;
  return {
    key: row.id,
    face: faceOf(row),
    name: nameOf(row),
    topic: [channelOf(row), row.team?.name, row.title || (row.visitor?.name ? '' : pathOf(row.context?.page))]
      .filter(Boolean).join(' · '),
    preview: typing ? t('typing: {}', typing)
      : doing && words ? t('{1} · {2}', doing, words) : doing || words,
    rating,
    typing: !!typing,
    unread: unreadOf(row),
    waits: row.status === 'waiting',
    due: row.status !== 'closed' && row.due_at || '',
    closed: row.status === 'closed',
    at: row.closed_at ?? row.updated_at,
    when: ago(row.closed_at ?? row.updated_at),
    other: !mine && row.assignee,
    // The list does not know whether a channel has taken it: the thread says so.
    state: wrote && !channelOf(row) ? (read ? 'read' : 'sent') : '',
    tags: row.tags?.slice(0, 2) ?? [],
    on,
    tab: on || first,
    selected,
  };
}

/** @typedef {ReturnType<typeof rowModel>} RowModel */

/** @param {RowModel} model */
export function drawRow(model) {
  const side = model.waits
    ? el('span.wait', {}, icon('clock'), el('span.sr-only', {}, `${t('waiting')} `), el('span'))
    : el('time', { datetime: model.at }, model.when);
  return el(
    `a.row${model.unread ? '.unread' : ''}${model.selected ? '.selected' : ''}`,
    {
      href: `#${model.key}`,
      'data-id': model.key,
      'aria-current': model.on ? 'true' : null,
      tabindex: model.tab ? 0 : -1,
    },
    el('span.pick', { title: t('Select (X)') }, face(model.face)),
    model.selected && el('span.sr-only', {}, t('selected')),
    el(
      'b.truncate',
      { dir: 'auto', title: model.topic },
      model.name,
      model.topic && el('span.topic', {}, ` · ${model.topic}`),
    ),
    el('span.side', {}, model.due && due(), side),
    preview(model),
    el('span.side', {}, ...mark(model)),
  );
}

/** The time until a target is due, which `List` writes. */
const due = () => el('span.wait.due', { title: t('Time left to the target') },
  icon('flag'), el('span.sr-only', {}, `${t('due in')} `), el('span'));

/**
 * The last message, or the rating with its comment, which has a direction of its own.
 * @param {RowModel} model
 */
function preview({ typing, rating, preview: words }) {
  if (!rating) return el(`span.preview.truncate${typing ? '.typing' : ''}`, { dir: 'auto' }, words);
  return el('span.preview.rated', {}, stars(rating), el('span.truncate', { dir: 'auto' }, words));
}

/**
 * The end of the second line: the number of unread messages, a colleague, or the state of our own
 * last message.
 * @param {RowModel} model
 */
function mark(model) {
  if (model.unread) {
    return [
      el(
        'span.count',
        {},
        model.unread > 99 ? '99+' : String(model.unread),
        el('span.sr-only', {}, ` ${t('unread')}`),
      ),
    ];
  }
  if (model.other) {
    return [
      el('span.sr-only', {}, t('assigned to {}', model.other.name)),
      face({ kind: 'operator', ...model.other }, '.avatar-sm'),
    ];
  }
  return model.state ? [
    el('span.sr-only', {}, model.state === 'read' ? t('Read') : t('Sent')),
    tick(model.state),
  ] : [];
}

const number = new Intl.NumberFormat(locale);

/**
 * A count, in thousands from 100,000 on.
 * @param {number} count
 */
export const short = (count) => (
  count < 100_000 ? number.format(count) : t('{}\u00a0k', number.format(Math.floor(count / 1000)))
);

/**
 * A waiting time: 4:05, hours, or days.
 * @param {number} seconds
 */
export function duration(seconds) {
  if (seconds < 3600) {
    return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
  }
  const hours = Math.floor(seconds / 3600);
  return hours < 48 ? t('{}\u00a0h', hours) : t('{}\u00a0d', number.format(Math.floor(hours / 24)));
}

/**
 * A day, with its year unless that is the present one.
 * @param {string} at
 * @param {'short' | 'long'=} month
 */
export function dayOf(at, month = 'short') {
  const date = new Date(at);
  const isOfThisYear = date.getFullYear() === new Date().getFullYear();
  return date.toLocaleDateString(locale, {
    day: 'numeric', month, ...(!isOfThisYear && { year: 'numeric' }),
  });
}

/**
 * The time since then in minutes or hours, or the date.
 * @param {string} at
 */
export function ago(at) {
  const minutes = Math.floor((Date.now() - Date.parse(at)) / 60_000);
  if (minutes < 1) return t('now');
  if (minutes < 60) return t('{}\u00a0min', minutes);
  return minutes < 1440
    ? t('{}\u00a0h', Math.floor(minutes / 60))
    : dayOf(at);
}
