// To whom a conversation is given, and why; and why it is closed.

import { el } from '../../shared/dom.js';
import { face } from '../../shared/thread.js';
import { api } from '../shell/api.js';
import { ways } from './sheet.js';

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

/** What is known of a colleague that helps to choose. */
function state(member) {
  const open = member.load === undefined ? '' : `${member.load} open`;
  if (member.online === false) return ['offline', open].filter(Boolean).join(', ');
  if (member.available === false) return [open, 'unavailable'].filter(Boolean).join(', ');
  return open;
}

/**
 * @param {import('./sheet.js').Sheet} sheet
 * @param {{me: {id: string}, assignee: any, viewers: Set<string>}} now
 * @param {(to: string?, name: string, reason: string) => void} done
 */
export async function transfer(sheet, { me, assignee, viewers }, done) {
  const people = el('div.people', { role: 'radiogroup', 'aria-label': 'Transfer to' });
  const option = (id, name, hint, who) => el(
    'label',
    {},
    who ? face(who, '.avatar-sm') : el('span'),
    el('span.truncate', { dir: 'auto' }, name),
    el('span.meta', {}, hint),
    el('input', { type: 'radio', name: 'to', value: id, required: true, 'data-name': name }),
  );
  const queue = assignee ? [option('', 'Queue', 'next available operator')] : [];
  people.append(...queue, el('p.meta', { role: 'status' }, 'Loading the team…'));
  sheet.open(
    'Transfer to',
    [
      people,
      ...reasonField('Reason', 'Your team sees it as a note. The visitor only sees who takes over.'),
      ways('Transfer', () => sheet.close()),
    ],
    () => {
      const picked = /** @type {HTMLInputElement?} */ (people.querySelector('input:checked'));
      if (!picked) return;
      done(picked.value || null, picked.dataset.name ?? '', reason(sheet));
    },
  );
  let team;
  try {
    const { members } = await api.members();
    team = members.filter((member) => (
      !member.disabled && member.id !== assignee?.id && (assignee || member.id !== me.id)
    ));
  } catch (error) {
    team = null;
    people.lastElementChild.textContent = error.status === 404
      ? 'This server does not support the team list.'
      : 'The team could not be loaded.';
  }
  if (!sheet.is('Transfer to') || !team) return;
  team.sort((a, b) => (
    Number(b.online ?? 0) - Number(a.online ?? 0) || (a.load ?? 0) - (b.load ?? 0)
      || (a.name < b.name ? -1 : 1)
  ));
  people.replaceChildren(
    ...team.map((member) => option(
      member.id,
      member.id === me.id ? `${member.name} (you)` : member.name,
      [state(member), viewers.has(member.id) && 'viewing'].filter(Boolean).join(', '),
      { kind: 'operator', ...member },
    )),
    ...queue,
  );
  if (!team.length && !queue.length) people.append(el('p.meta', {}, 'There is no one else on the team yet.'));
  const first = people.querySelector('input');
  if (first) { first.checked = true; first.focus(); }
}

/** @param {(reason: string) => void} done */
export function closing(sheet, done) {
  const end = ways('Close conversation', () => sheet.close());
  const fields = reasonField('Reason', 'Optional. Your team sees it as a note, the visitor does not.');
  sheet.open('Close this conversation', [...fields, end], () => done(reason(sheet)));
  const field = sheet.root.querySelector('textarea');
  field.addEventListener('keydown', (event) => {
    // plain Enter begins a line: a reply that was typed here by mistake must not close anything
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
    event.preventDefault();
    done(reason(sheet));
  });
}

const reason = (sheet) => sheet.root.querySelector('#reason')?.value.trim() ?? '';
