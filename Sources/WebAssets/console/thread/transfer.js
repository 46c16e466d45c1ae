// The sheets for transferring and for closing a conversation, each with a reason.

import { el, icon } from '../../shared/dom.js';
import { face } from '../../shared/thread.js';
import { api, statusOf } from '../shell/api.js';
import { find } from '../shell/element.js';
import { t } from '../shell/language.js';
import { buttons } from './sheet.js';

/** @typedef {import('./sheet.js').Sheet} Sheet */
/** @typedef {import('../shell/api.js').Receiver} Receiver */

/**
 * @param {string} words
 * @param {string} hint
 * @returns {HTMLElement[]}
 */
const reasonField = (words, hint) => [
  el('label.label', { for: 'reason' }, words),
  el('textarea.input', {
    id: 'reason',
    rows: 2,
    maxlength: 500,
    dir: 'auto',
    'aria-describedby': 'reason-hint',
  }),
  el('p.meta', { id: 'reason-hint' }, hint),
];

/**
 * Presence and load of a colleague, in words.
 * @param {Member} member
 */
function state(member) {
  const open = member.load === undefined ? '' : t('{} open', member.load);
  if (member.online === false) return [t('offline'), open].filter(Boolean).join(', ');
  if (member.available === false) return [open, t('unavailable')].filter(Boolean).join(', ');
  return open;
}

/**
 * A radio button for a colleague, a team or the queue.
 * @param {Receiver} to
 * @param {string} name
 * @param {string} hint
 * @param {HTMLElement} look
 */
const option = (to, name, hint, look = el('span')) => el(
  'label',
  {},
  look,
  el('span.truncate', { dir: 'auto' }, name),
  el('span.meta', {}, hint),
  el('input', {
    type: 'radio', name: 'to', value: JSON.stringify(to), required: true, 'data-name': name,
  }),
);

/**
 * Sorts colleagues who are online and have few conversations first.
 * @param {Member} a
 * @param {Member} b
 */
const byLoad = (a, b) => Number(b.online ?? 0) - Number(a.online ?? 0)
  || (a.load ?? 0) - (b.load ?? 0) || (a.name < b.name ? -1 : 1);

/**
 * @param {Sheet} sheet
 * @param {{me: Person, assignee: Named | null | undefined, team: Named | null | undefined,
 *   viewers: Set<string>}} now
 * @param {(to: Receiver, name: string, reason: string) => void} done
 */
export async function transfer(sheet, { me, assignee, team: own, viewers }, done) {
  const people = el('div.people', { role: 'radiogroup', 'aria-label': t('Transfer to') });
  const queue = assignee ? [option({}, own ? t('Queue of {}', own.name) : t('Queue'),
    own ? t('next available member') : t('next available operator'))] : [];
  if (own) queue.push(option({ to_team: null }, t('Queue of everyone'), t('next available operator')));
  const status = el('p.meta', { role: 'status' }, t('Loading the team…'));
  people.append(...queue, status);
  sheet.open(
    t('Transfer to'),
    [
      people,
      ...reasonField(t('Reason'), t('Your team sees it as a note. The visitor only sees who takes over.')),
      buttons(t('Transfer'), () => sheet.close()),
    ],
    () => {
      const picked = find(people, 'input:checked', HTMLInputElement);
      if (!picked) return;
      done(JSON.parse(picked.value), picked.dataset.name ?? '', reason(sheet));
    },
  );
  let team;
  let teams;
  try {
    const [members, all] = await Promise.all([api.members(), api.teams()]);
    teams = all.filter(({ id }) => id !== own?.id);
    team = members.filter((member) => (
      !member.disabled && member.id !== assignee?.id && (assignee || member.id !== me.id)
    )).sort(byLoad);
  } catch (error) {
    status.textContent = statusOf(error) === 404
      ? t('This server does not support the team list.')
      : t('The team could not be loaded.');
  }
  if (!sheet.is(t('Transfer to')) || !team || !teams) return;
  people.replaceChildren(
    ...team.map((member) => option(
      { to: member.id },
      member.id === me.id ? t('{} (you)', member.name) : member.name,
      [state(member), viewers.has(member.id) && t('viewing')].filter(Boolean).join(', '),
      face({ kind: 'operator', ...member }, '.avatar-sm'),
    )),
    ...teams.map(({ id, name, available, waiting }) => option(
      { to_team: id },
      name,
      [available ? '' : t('no one available'), waiting ? t('{} waiting', waiting) : ''].filter(Boolean)
        .join(', '),
      icon('users', 'small'),
    )),
    ...queue,
  );
  if (!people.firstChild) people.append(el('p.meta', {}, t('There is no one else on the team yet.')));
  const first = people.querySelector('input');
  if (first) { first.checked = true; first.focus(); }
}

/**
 * @param {Sheet} sheet
 * @param {(reason: string) => void} done
 * @param {string=} title
 * @param {string=} verb of the button
 */
export function closing(
  sheet, done, title = t('Close this conversation'), verb = t('Close conversation'),
) {
  const end = buttons(verb, () => sheet.close());
  const fields = reasonField(t('Reason'), t('Optional. Your team sees it as a note, the visitor does not.'));
  sheet.open(title, [...fields, end], () => done(reason(sheet)));
  sheet.root.querySelector('textarea')?.addEventListener('keydown', (event) => {
    // Enter alone begins a line: a reply that is typed here by mistake must not close anything
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
    event.preventDefault();
    done(reason(sheet));
  });
}

/** @param {Sheet} sheet */
const reason = (sheet) => sheet.root.querySelector('textarea')?.value.trim() ?? '';
