// The audit log: changes of the workspace and who made them, newest first.

import { el, icon } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { sentence } from '../shell/rest.js';
import { nameOf } from './audit-actions.js';
import { pane } from './pane.js';
import { moment } from './times.js';

/** @type {Record<string, string>} */
const ACTORS = { api_key: t('API key'), command: t('Command line'), rule: t('Gateway') };
const PAGE = 50; // entries of one request

/**
 * The changed members in one line, as the API has them.
 * @param {Record<string, unknown>} details
 */
function gist(details) {
  return Object.entries(details ?? {}).map(([key, value]) => {
    if (value === null || value === '' || value === false) return '';
    const text = Array.isArray(value) ? value.join(', ')
      : typeof value === 'object' ? Object.keys(value ?? {}).join(', ') : value;
    return `${key.replaceAll('_', ' ')}: ${text}`;
  }).filter(Boolean).join(' · ');
}

/**
 * @param {import('./pane.js').SettingsContext} context
 * @returns {Promise<import('./pane.js').SettingsPage>}
 */
export async function open(context) {
  /** @type {Map<string, string>} */
  const members = new Map();
  const body = el('tbody');
  const more = el('button.button', { type: 'button' }, t('Show older entries'));
  const trouble = el('p.trouble-line', { role: 'alert', hidden: true });
  const empty = el('div.empty', { hidden: true }, icon('file'),
    el('b', {}, t('No entries yet')),
    el('p', {}, t('Changes to settings, members, keys and webhooks appear here.')));
  const table = el(
    'table.log-table',
    {},
    el('thead', {}, el('tr', {}, ...[t('Time'), t('Who'), t('Action'), t('Details')].map((name) => el('th', {
      scope: 'col' }, name)))),
    body,
  );
  /** @type {string?} */
  let cursor = null;

  /** @param {AuditEntry} entry */
  const who = ({ actor, actor_id: id, actor_name: name }) =>
    name ?? members.get(id ?? '') ?? ACTORS[actor] ?? t('Former member');

  /** @param {string?} from the cursor of a page, null for the first */
  async function load(from) {
    const answer = await context.rest.get('audit-log', { cursor: from, limit: PAGE });
    cursor = answer.next_cursor;
    if (!from) body.replaceChildren();
    body.append(...answer.audit_log.map((entry) => el(
      'tr',
      {},
      el('td', {}, el('time.num', { datetime: entry.created_at }, moment(entry.created_at))),
      el('td', {}, who(entry)),
      el('td', {}, nameOf(entry.action)),
      el('td.wrap', { dir: 'ltr' }, gist(entry.details)),
    )));
    more.hidden = !cursor;
    empty.hidden = body.childElementCount > 0;
    table.hidden = !empty.hidden;
  }

  /** @param {string?} from */
  async function attempt(from) {
    trouble.hidden = true;
    try { await load(from); } catch (error) {
      trouble.hidden = false;
      trouble.replaceChildren(icon('alert', 'small'), sentence(error));
    }
  }

  more.onclick = () => attempt(cursor);
  const known = await context.rest.get('members').catch(() => null);
  for (const { id, name } of known?.members ?? []) members.set(id, name);
  await load(null);
  let isFirst = true;
  return {
    root: pane({
      title: t('Audit log'),
      lead: t('Who changed what, newest first. Messages are never part of it.'),
      body: [trouble, el('div.scroll', { role: 'region', tabindex: 0, 'aria-label': t('Audit log') },
        table), empty, el('div', {}, more)],
    }),
    show: () => { if (!isFirst) attempt(null); isFirst = false; },
  };
}
