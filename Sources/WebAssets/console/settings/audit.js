// The audit log: who changed what, newest first. Contents of conversations are not in it.

import { el, icon } from '../../shared/dom.js';
import { sentence } from '../shell/rest.js';
import { pane } from './pane.js';
import { moment } from './times.js';

const ACTORS = { api_key: 'API key', command: 'Command line', rule: 'Auto-reply rule' };

/** `member.updated` as words. */
const words = (action) => {
  const [what, done = ''] = action.split('.');
  const phrase = `${what} ${done}`.replaceAll('_', ' ').trim();
  return (phrase[0].toUpperCase() + phrase.slice(1)).replace(/^Api /, 'API ');
};

/** What was changed, in one line. */
function gist(details = {}) {
  return Object.entries(details ?? {}).filter(([, value]) => value !== null && value !== '' && value !== false).map(
    ([key, value]) => `${key.replaceAll('_', ' ')}: ${
      Array.isArray(value) ? value.join(', ')
        : typeof value === 'object' ? Object.keys(value).join(', ') : value}`,
  ).join(' · ');
}

export async function open(context) {
  const members = new Map();
  const body = el('tbody');
  const more = el('button.button', { type: 'button' }, 'Show older entries');
  const trouble = el('p.trouble-line', { role: 'alert', hidden: true });
  const empty = el('div.empty', { hidden: true }, icon('file'), el('b', {}, 'No entries yet'),
    el('p', {}, 'Changes to settings, members, keys and webhooks appear here.'));
  const table = el(
    'table.log-table',
    {},
    el('thead', {}, el('tr', {}, ...['Time', 'Who', 'Action', 'Details'].map((name) => el('th', {
      scope: 'col' }, name)))),
    body,
  );
  let cursor = /** @type {string|undefined} */ (undefined);

  const who = ({ actor, actor_id: id, actor_name: name }) => {
    if (actor && typeof actor === 'object') return actor.name ?? ACTORS[actor.kind] ?? actor.kind;
    return name ?? members.get(id) ?? ACTORS[actor] ?? 'Former member';
  };

  async function load(from) {
    const answer = await context.rest.get('audit-log', { cursor: from, limit: 50 });
    const list = answer.entries ?? answer.audit_log ?? answer.events ?? [];
    cursor = answer.next_cursor;
    if (!from) body.replaceChildren();
    body.append(...list.map((entry) => el(
      'tr',
      {},
      el('td', {}, el('time.num', { datetime: entry.created_at ?? entry.at },
        moment(entry.created_at ?? entry.at))),
      el('td', {}, who(entry)),
      el('td', {}, words(entry.action)),
      el('td.wrap', {}, gist(entry.details)),
    )));
    more.hidden = !cursor;
    empty.hidden = body.childElementCount > 0;
    table.hidden = !empty.hidden;
  }

  async function attempt(from) {
    trouble.hidden = true;
    try { await load(from); } catch (error) {
      trouble.hidden = false;
      trouble.replaceChildren(icon('alert', 'small'), sentence(error));
    }
  }

  more.onclick = () => attempt(cursor);
  const known = await context.rest.get('members').catch(() => ({ members: [] }));
  for (const { id, name } of known.members) members.set(id, name);
  await load();
  let first = true;
  return {
    root: pane({
      title: 'Audit log',
      lead: 'Who changed what, newest first. Messages are never part of it.',
      body: [trouble, el('div.scroll', { role: 'region', tabindex: 0, 'aria-label': 'Audit log' },
        table), empty, el('div', {}, more)],
    }),
    show: () => { if (!first) attempt(); first = false; },
  };
}
