// The texts of the thread column that are not messages: event lines, the preview of what the
// visitor types, hints above the composer, and the empty column.

import { el, icon } from '../../shared/dom.js';
import { face, nameVisitors, speakThread, time } from '../../shared/thread.js';
import { locale, pieces, t } from '../shell/language.js';
import { age } from '../shell/link-state.js';
import { remark, stars } from '../visitor/stars.js';
import { generatedName } from '../visitor/visitor-name.js';

/** @typedef {import('../../shared/dom.js').Child} Child */
/** @typedef {{key: string, draw: 'opened', at: string, page: string}} OpenedPiece */

const LONG = 2000; // ms; after it, the hint shows how long a colleague has been writing

/** @type {Record<import('../../shared/thread.js').ThreadWord, string>} */
const WORDS = {
  sending: t('Sending'),
  waiting: t('Waiting to send'),
  unsure: t('Not confirmed yet'),
  sent: t('Sent'),
  delivered: t('Delivered'),
  read: t('Read'),
  today: t('Today'),
  you: t('You'),
  note: t('note, visible to your team only'),
};
speakThread(locale, (name) => WORDS[name]);
nameVisitors(generatedName);

/** @type {Record<string, string>} */
const MINE = {
  claimed: t('You claimed this conversation'),
  closed: t('You closed this conversation'),
  reopened: t('You reopened this conversation'),
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
  switch (payload?.event) {
    case 'transferred': return transferred(payload, me);
    case 'unassigned': return t('Operator no longer available, back in the queue');
    case 'rated': return payload.rating ? t('Rated {} of 5', payload.rating) : '';
    default: return '';
  }
}

/**
 * @param {Payload} payload
 * @param {{id: string}} me
 */
function transferred({ from, to, team }, me) {
  const group = typeof team === 'object' && team?.name;
  if (from?.id === me.id) {
    if (to) return t('You transferred this to {}', to.name);
    return group ? t('You transferred this to the team {}', group) : t('You transferred this to the queue');
  }
  const name = from?.name ?? t('Someone');
  if (to?.id === me.id) return t('{} transferred this to you', name);
  if (to) return t('{1} transferred this to {2}', name, to.name);
  return group ? t('{1} transferred this to the team {2}', name, group)
    : t('{} transferred this to the queue', name);
}

/** @param {OpenedPiece} model */
export const opened = ({ at, page }) => el(
  'p.event',
  {},
  ...page ? pieces('Started on {}', el('b', {}, page)) : [t('Conversation started')],
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
      el('p', {}, el('b', {}, t('This conversation is assigned to {}.', owner.name)),
        ` ${t('Your message was not sent.')}`),
      link(t('Send anyway'), acts.anyway),
    ];
  }
  if (busy) return [el('p', {}, busy)];
  if (winner) {
    return [
      face({ kind: 'operator', ...winner }, '.avatar-sm'),
      el('p', {}, el('b', {}, t('{} claimed this conversation first.', winner.name)),
        ` ${t('You can still read it.')}`),
      acts.next && link(t('Claim next'), acts.next),
      link(t('Stay here'), acts.watch),
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
        el('b', {}, t('{} is also writing a reply.', name)),
        time > LONG ? ` ${t('Started {} ago.', age(time))}` : '',
      ),
      link(t('Leave it to {}', name), acts.leave),
    ];
  }
  if (excerpt) {
    return [
      el('p', {}, excerpt.failed || t('You are viewing older messages.')),
      link(t('Jump to latest'), acts.latest),
    ];
  }
  return closed ? [el('p', {}, t('This conversation is closed. Reopen it to reply.'))] : [];
}

/** The next steps of a new workspace: where they are done, and what for. */
const STEPS = [
  ['appearance', t('Put the widget on your site'), t('One line for every page.')],
  ['members', t('Invite a colleague'), t('Two people answer sooner than one.')],
  ['replies', t('Write your first canned reply'), t('For what is asked daily.')],
  ['hours', t('Set your business hours'), t('Outside them the widget says when you are back.')],
];

const beginning = () => [
  icon('swift'),
  el('b', {}, t('No conversations yet')),
  el('p', {}, t('The first question appears in the list by itself, with a sound.')),
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
      el('b', {}, t('The queue is empty')),
      el('p', {}, t('New visitors appear here automatically, with a sound.')),
      mine
        ? el(
          'p.hint',
          {},
          ...mine === 1
            ? pieces('{1} then {2} shows your conversation', el('kbd', {}, 'G'), el('kbd', {}, 'M'))
            : pieces('{1} then {2} shows your {3} conversations',
              el('kbd', {}, 'G'), el('kbd', {}, 'M'), `${mine}`),
        )
        : el('p.hint', {}, ...pieces('{} shows all keyboard shortcuts', el('kbd', {}, '?'))),
    ];
  }
  return [
    icon('swift'),
    el('b', {}, waiting === 1
      ? t('1 visitor is waiting') : t('{} visitors are waiting', waiting)),
    el('p', {}, t('Claim the one who has waited longest.')),
    el(
      'button.button.primary',
      { type: 'button', click: next },
      t('Claim next'),
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
      t('{} is typing (not sent yet)', name),
    ),
  );
}
