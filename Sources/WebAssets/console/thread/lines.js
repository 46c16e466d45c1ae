// What the thread column says that nobody wrote: event lines, the preview, hints, and an empty
// column.

import { el, icon } from '../../shared/dom.js';
import { face, speakThread, time } from '../../shared/thread.js';
import { age } from '../shell/link-state.js';
import { remark, stars } from '../visitor/stars.js';

const WORDS = {
  sending: 'Sending',
  waiting: 'Waiting to send',
  unsure: 'Not confirmed yet',
  sent: 'Sent',
  delivered: 'Delivered',
  read: 'Read',
  today: 'Today',
  you: 'You',
  note: 'note, visible to your team only',
};
speakThread(undefined, (name) => WORDS[name]);

/**
 * A text, or what a line is made of: stars and a comment.
 * @param {{payload?: any, body: string, at: any}} entry
 * @param {{id: string}} me
 */
export function eventLine({ payload, body, at }, me) {
  const by = payload?.operator ?? payload?.by;
  const mine = {
    claimed: 'You claimed this conversation',
    closed: 'You closed this conversation',
    reopened: 'You reopened this conversation',
  };
  const words = (by?.id === me.id && mine[payload.event]) || event(payload, me) || body;
  const reason = typeof payload?.reason === 'string' && payload.event !== 'unassigned'
    ? `: ${payload.reason}`
    : '';
  const line = `${words}${reason} · ${time(at)}`;
  if (payload?.event !== 'rated') return line;
  const { rating, comment } = payload;
  return [stars(rating, true), ` ${line}`, typeof comment === 'string' && remark(comment)];
}

/** Where the line that everybody reads says less than a colleague wants to know. */
function event(payload, me) {
  const name = (who) => (who?.id === me.id ? 'you' : who?.name);
  switch (payload?.event) {
    case 'transferred': {
      const from = name(payload.from);
      const to = payload.to ? name(payload.to) : 'the queue';
      if (!to) return '';
      return from === 'you' ? `You transferred this to ${to}` : `${from ?? 'Someone'} transferred this to ${to}`;
    }
    case 'unassigned': return 'Operator no longer available, back in the queue';
    case 'rated': return payload.rating ? `Rated ${payload.rating} of 5` : '';
    default: return '';
  }
}

export const opened = ({ at, page }) => el(
  'p.event',
  {},
  page ? 'Started on ' : 'Conversation started',
  page && el('b', {}, page),
  ` · ${time(at)}`,
);

const way = (words, click) => el('button.link', { type: 'button', click }, words);

/**
 * One line above the composer at a time, the most urgent. It pushes the thread up and covers
 * nothing.
 * @param {{winner?: any, told?: string, writer?: any, excerpt?: any, closed?: boolean, busy?: string,
 *   owner?: any}} now
 * @param {{next?: (() => void)|false, leave: () => void, latest: () => void,
 *   watch: () => void, anyway: () => void}} ways
 * @returns {Element[]}
 */
export function hint({ winner, told, writer, excerpt, closed, busy, owner }, ways) {
  if (owner) {
    return [
      face({ kind: 'operator', ...owner }, '.avatar-sm'),
      el('p', {}, el('b', {}, `This conversation is assigned to ${owner.name}.`), ' Your message was not sent.'),
      way('Send anyway', ways.anyway),
    ];
  }
  if (busy) return [el('p', {}, busy)];
  if (winner) {
    return [
      face({ kind: 'operator', ...winner }, '.avatar-sm'),
      el('p', {}, el('b', {}, `${winner.name} claimed this conversation first.`), ' You can still read it.'),
      ways.next && way('Claim next', ways.next),
      way('Stay here', ways.watch),
    ].filter(Boolean);
  }
  if (told) return [el('p', {}, told)];
  if (writer) {
    const { name } = writer.who;
    const since = Date.now() - (writer.since ?? Date.now());
    return [
      face(writer.who, '.avatar-sm'),
      el(
        'p',
        {},
        el('b', {}, `${name} is also writing a reply.`),
        since > 2000 ? ` Started ${age(since)} ago.` : '',
      ),
      way(`Leave it to ${name}`, ways.leave),
    ];
  }
  if (excerpt) {
    return [
      el('p', {}, excerpt.failed || 'You are viewing older messages.'),
      way('Jump to latest', ways.latest),
    ];
  }
  return closed ? [el('p', {}, 'This conversation is closed. Reopen it to reply.')] : [];
}

/** No conversation is open. @param {{waiting: number, mine: number}} counts */
export function nothing({ waiting, mine }, next) {
  if (!waiting) {
    return [
      icon('swift'),
      el('b', {}, 'The queue is empty'),
      el('p', {}, 'New visitors appear here automatically, with a sound.'),
      mine
        ? el(
          'p.hint',
          {},
          el('kbd', {}, 'G'),
          ' then ',
          el('kbd', {}, 'M'),
          mine === 1 ? ' shows your conversation' : ` shows your ${mine} conversations`,
        )
        : el('p.hint', {}, el('kbd', {}, '?'), ' shows all keyboard shortcuts'),
    ];
  }
  return [
    icon('swift'),
    el('b', {}, waiting === 1 ? '1 visitor is waiting' : `${waiting} visitors are waiting`),
    el('p', {}, 'Claim the one who has waited longest.'),
    el(
      'button.button.primary',
      { type: 'button', click: next },
      'Claim next',
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
      `${name} is typing (not sent yet)`,
    ),
  );
}
