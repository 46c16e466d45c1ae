// What the thread column says that nobody wrote: event lines, the preview, hints, and an empty
// column.

import { el, icon } from '../shared/dom.js';
import { face, time } from '../shared/thread.js';

/** @param {{id: string}} me */
export function eventLine({ payload, body, at }, me) {
  const by = payload?.operator ?? payload?.by;
  const mine = {
    claimed: 'You claimed this conversation',
    closed: 'You closed this conversation',
    reopened: 'You reopened this conversation',
  };
  return `${(by?.id === me.id && mine[payload.event]) || body} · ${time(at)}`;
}

export const opened = ({ at, page }) => el(
  'p.event',
  {},
  page ? 'Opened on ' : 'Opened',
  page && el('b', {}, page),
  ` · ${time(at)}`,
);

/**
 * One line above the composer at a time, the most urgent. It pushes the thread up and covers
 * nothing.
 * @returns {Element[]} */
export function hint({ winner, told, writer, closed }, next) {
  if (winner) {
    return [
      face({ kind: 'operator', ...winner }, '.avatar-sm'),
      el('p', {}, el('b', {}, `${winner.name} was faster.`), ' The conversation is theirs.'),
      next && el('button.link', { type: 'button', click: next }, 'Take the next'),
    ].filter(Boolean);
  }
  if (told) return [el('p', {}, told)];
  if (writer) {
    return [
      face(writer.who, '.avatar-sm'),
      el('p', {}, el('b', {}, `${writer.who.name} is writing here too.`)),
    ];
  }
  return closed ? [el('p', {}, 'This conversation is closed. Reopen it to write again.')] : [];
}

/** No conversation is open. @param {number} waiting */
export function nothing(waiting, next) {
  if (!waiting) {
    return [
      icon('swift'),
      el('b', {}, 'The queue is empty'),
      el('p', {}, 'A new visitor appears here by itself.'),
      el('p.hint', {}, el('kbd', {}, '?'), ' shows the keys'),
    ];
  }
  return [
    icon('swift'),
    el('b', {}, waiting === 1 ? 'One person waits' : `${waiting} people wait`),
    el('p', {}, 'Take the one who has waited longest.'),
    el(
      'button.button.primary',
      { type: 'button', click: next },
      'Take the next',
      el('kbd', {}, 'N'),
    ),
  ];
}

/** What the visitor types, before it is sent: dashed, and never read out by itself. */
export function preview({ who, preview: text }) {
  const name = who.name || 'The visitor';
  return el(
    'div.say.in.first.last.typing',
    { 'aria-live': 'off' },
    face(who),
    el('p.bubble.preview', { dir: 'auto' }, text || '…'),
    el(
      'p.state',
      {},
      el('span.dots', { 'aria-hidden': 'true' }, el('i'), el('i'), el('i')),
      `${name} is typing, not sent yet`,
    ),
  );
}
