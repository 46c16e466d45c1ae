// The texts of the thread column that are not messages: event lines, the preview of what the
// visitor types, hints above the composer, and the empty column.

import { el, icon } from '../../shared/dom.js';
import { face, nameVisitors, speakThread, time } from '../../shared/thread.js';
import { age } from '../shell/link-state.js';
import { remark, stars } from '../visitor/stars.js';
import { generatedName } from '../visitor/visitor-name.js';

/** @typedef {import('../../shared/dom.js').Child} Child */
/** @typedef {{key: string, draw: 'opened', at: string, page: string}} OpenedPiece */

const LONG = 2000; // ms; after it, the hint shows how long a colleague has been writing

/** @type {Record<import('../../shared/thread.js').ThreadWord, string>} */
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
nameVisitors(generatedName);

/** @type {Record<string, string>} */
const MINE = {
  claimed: 'You claimed this conversation',
  closed: 'You closed this conversation',
  reopened: 'You reopened this conversation',
};

/**
 * The text of an event line, with stars and the comment for a rating.
 * @param {Entry} entry
 * @param {{id: string}} me
 * @returns {Child | Child[]}
 */
export function eventLine({ payload, body, at }, me) {
  const by = payload?.operator ?? payload?.by;
  const words = (by?.id === me.id && MINE[payload?.event ?? '']) || event(payload, me) || body;
  const reason = typeof payload?.reason === 'string' && payload.event !== 'unassigned'
    ? `: ${payload.reason}`
    : '';
  const line = `${words}${reason} · ${time(at)}`;
  if (payload?.event !== 'rated') return line;
  const { rating, comment } = payload;
  return [stars(rating, true), ` ${line}`, typeof comment === 'string' && remark(comment)];
}

/**
 * The text for operators, where it differs from the body, which visitors read too.
 * @param {Payload | undefined} payload
 * @param {{id: string}} me
 */
function event(payload, me) {
  /** @param {Named | null | undefined} who */
  const name = (who) => (who?.id === me.id ? 'you' : who?.name);
  switch (payload?.event) {
    case 'transferred': {
      const from = name(payload.from);
      const to = payload.to ? name(payload.to)
        : typeof payload.team === 'object' && payload.team ? `the team ${payload.team.name}`
          : 'the queue';
      if (!to) return '';
      return from === 'you' ? `You transferred this to ${to}` : `${from ?? 'Someone'} transferred this to ${to}`;
    }
    case 'unassigned': return 'Operator no longer available, back in the queue';
    case 'rated': return payload.rating ? `Rated ${payload.rating} of 5` : '';
    default: return '';
  }
}

/** @param {OpenedPiece} model */
export const opened = ({ at, page }) => el(
  'p.event',
  {},
  page ? 'Started on ' : 'Conversation started',
  page && el('b', {}, page),
  ` · ${time(at)}`,
);

/**
 * @param {string} words
 * @param {() => void} click
 */
const link = (words, click) => el('button.link', { type: 'button', click }, words);

/**
 * The most urgent hint for the line above the composer, which pushes the thread up. `writer` is a
 * colleague who types here; `owner` has the conversation that we are about to write in.
 * @param {{winner: Named?, notice: string, writer: {who: Person, since: number} | undefined,
 *   excerpt: {failed: string}?, closed: boolean, busy: string, owner: Named?}} now
 * @param {{next: (() => void) | false, leave: () => void, latest: () => void,
 *   watch: () => void, anyway: () => void}} acts
 * @returns {Element[]}
 */
export function hint({ winner, notice, writer, excerpt, closed, busy, owner }, acts) {
  if (owner) {
    return [
      face({ kind: 'operator', ...owner }, '.avatar-sm'),
      el('p', {}, el('b', {}, `This conversation is assigned to ${owner.name}.`), ' Your message was not sent.'),
      link('Send anyway', acts.anyway),
    ];
  }
  if (busy) return [el('p', {}, busy)];
  if (winner) {
    return [
      face({ kind: 'operator', ...winner }, '.avatar-sm'),
      el('p', {}, el('b', {}, `${winner.name} claimed this conversation first.`), ' You can still read it.'),
      acts.next && link('Claim next', acts.next),
      link('Stay here', acts.watch),
    ].filter(Boolean);
  }
  if (notice) return [el('p', {}, notice)];
  if (writer) {
    const { name } = writer.who;
    const time = Date.now() - writer.since;
    return [
      face(writer.who, '.avatar-sm'),
      el(
        'p',
        {},
        el('b', {}, `${name} is also writing a reply.`),
        time > LONG ? ` Started ${age(time)} ago.` : '',
      ),
      link(`Leave it to ${name}`, acts.leave),
    ];
  }
  if (excerpt) {
    return [
      el('p', {}, excerpt.failed || 'You are viewing older messages.'),
      link('Jump to latest', acts.latest),
    ];
  }
  return closed ? [el('p', {}, 'This conversation is closed. Reopen it to reply.')] : [];
}

/** The next steps of a new workspace: where they are done, and what for. */
const STEPS = [
  ['appearance', 'Put the widget on your site', 'One line for every page.'],
  ['members', 'Invite a colleague', 'Two people answer sooner than one.'],
  ['replies', 'Write your first canned reply', 'For what is asked daily.'],
  ['hours', 'Set your business hours', 'Outside them the widget says when you are back.'],
];

const beginning = () => [
  icon('swift'),
  el('b', {}, 'No conversations yet'),
  el('p', {}, 'The first question appears in the list by itself, with a sound.'),
  el('ul.first-steps', {}, ...STEPS.map(([page, words, reason]) => el(
    'li',
    {},
    el('a', { href: `#/settings/${page}` }, words),
    el('span', {}, reason),
  ))),
];

/**
 * The column while no conversation is open.
 * @param {{waiting: number, mine: number}} counts
 * @param {boolean} isNew whether the workspace has no conversation at all
 * @param {() => void} next claims the longest waiting conversation
 */
export function nothing({ waiting, mine }, isNew, next) {
  if (isNew) return beginning();
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

/**
 * The text that the visitor is typing. Screen readers do not announce it.
 * @param {import('../../shared/thread.js').Writer} model
 */
export function preview({ who, preview: text }) {
  const name = who.name || generatedName(who.id);
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
