// API keys for servers that call the REST API. A key is shown once. It can be revoked, not changed.

import { el } from '../../shared/dom.js';
import { collection, every } from './collection.js';
import { copyable, text } from './fields.js';
import { refusal } from './form.js';
import { checks } from './rows.js';
import { lockedFor } from './pane.js';
import { ago, day } from './times.js';

/** @type {[value: string, words: string][]} */
const SCOPES = [
  ['conversations:read', 'Read conversations'], ['conversations:write', 'Reply to and change conversations'],
  ['visitors:read', 'Read visitors'], ['visitors:write', 'Change visitors'],
  ['settings:read', 'Read settings'], ['settings:write', 'Change settings'],
  ['members:read', 'Read members'], ['members:invite', 'Invite agents'],
  ['members:manage', 'Change and remove agents'],
  ['webhooks:read', 'Read webhooks'], ['webhooks:write', 'Change webhooks'],
  ['analytics:read', 'Read analytics'], ['audit:read', 'Read the audit log'],
];

/** @param {ApiKey} key */
function state({ last_used_at: used, expires_at: end, revoked_at: revoked }) {
  if (revoked) return 'Revoked';
  if (end && Date.parse(end) < Date.now()) return 'Expired';
  return used ? `last used ${ago(used)}` : 'never used';
}

/** @param {import('./pane.js').SettingsContext} context */
export function open(context) {
  return collection(context, {
    name: 'keys',
    title: 'API keys',
    lead: 'For servers that call the REST API, which the page /api describes. They send the key in the header “Authorization: Bearer …”.',
    noun: 'key',
    verb: 'Create key',
    look: 'lock',
    empty: ['No keys yet', 'Create one when your own software should call the REST API.'],
    locked: lockedFor(context),
    fixed: true,
    load: () => every((query) => context.rest.get('api-keys', query), 'api_keys'),
    key: ({ id }) => id,
    heading: ({ name }) => name,
    blank: () => ({ id: '', name: '', scopes: ['conversations:read'], created_at: '',
      last_used_at: null, expires_at: null }),
    values: ({ name, scopes }) => ({ name, scopes, expires: '' }),
    row: (item) => ({
      title: item.name,
      meta: item.scopes.join(', '),
      text: item.scopes.join(' '),
      side: el('span.meta', {}, state(item)),
    }),
    fields: (form, item, isNew) => isNew ? [
      text(form, 'name', {
        label: 'Name',
        hint: 'What the key is for, so that you know what stops working when you revoke it.',
        max: 100,
      }),
      checks(form, 'scopes', { label: 'Permissions', options: SCOPES }),
      text(form, 'expires', { label: 'Expires on', hint: 'Leave empty for a key that does not expire.', type: 'date' }),
    ] : [
      el('dl.facts', {},
        el('dt', {}, 'Created'), el('dd', {}, day(item.created_at)),
        el('dt', {}, 'Last used'), el('dd', {}, item.last_used_at ? ago(item.last_used_at) : 'Never'),
        el('dt', {}, 'Expires'), el('dd', {}, item.expires_at ? day(item.expires_at) : 'Never')),
      el('div.field', {}, el('span.label', {}, 'Permissions'), el('ul.plain', {}, ...item.scopes.map(
        (scope) => el('li', {}, SCOPES.find(([key]) => key === scope)?.[1] ?? scope, ' ',
          el('code.meta', {}, scope)),
      ))),
      el('p.hint', {}, 'Keys cannot be changed. Create a new one, then revoke this one.'),
    ],
    async save(form) {
      const { name, scopes, expires } = form.now;
      if (!name.trim()) throw refusal('name', 'Enter a name.');
      if (!scopes.length) throw refusal('scopes', 'Choose at least one permission.');
      const until = expires && new Date(`${expires}T23:59:59`);
      if (until && +until < Date.now()) throw refusal('expires', 'Choose a date in the future.');
      const answer = await context.rest.post('api-keys', {
        name: name.trim(),
        scopes,
        ...(until && { expires_at: until.toISOString() }),
      });
      return { item: answer.api_key, secret: answer.key };
    },
    once: (secret, item) => el(
      'div.field',
      {},
      el('h2', {}, `Your new key “${item.name}”`),
      el('p', {}, 'Copy it now. Only its hash is stored, so it cannot be shown again.'),
      el('pre.code', { 'aria-label': 'Key' }, secret),
      copyable(secret, 'Copy key'),
    ),
    remove: ({ id }) => context.rest.remove(`api-keys/${id}`),
    removal: ['Revoke', ({ name }) => `Revoke “${name}”? Whatever uses it stops working at once.`],
  });
}
