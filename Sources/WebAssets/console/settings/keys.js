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
  ['conversations:read', 'Read conversations'], ['conversations:write', 'Answer and change them'],
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
    lead: 'For your own servers. A key goes into the header “Authorization: Bearer …”.',
    noun: 'key',
    verb: 'Make the key',
    look: 'lock',
    empty: ['No key yet', 'Make one when a program of yours should call the REST API.'],
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
        hint: 'What it is for, so that you know what stops when you revoke it.',
        max: 100,
      }),
      checks(form, 'scopes', { label: 'May', options: SCOPES }),
      text(form, 'expires', { label: 'Until', hint: 'Empty: until it is revoked.', type: 'date' }),
    ] : [
      el('dl.facts', {},
        el('dt', {}, 'Made'), el('dd', {}, day(item.created_at)),
        el('dt', {}, 'Used'), el('dd', {}, item.last_used_at ? ago(item.last_used_at) : 'Never'),
        el('dt', {}, 'Until'), el('dd', {}, item.expires_at ? day(item.expires_at) : 'No end')),
      el('div.field', {}, el('span.label', {}, 'May'), el('ul.plain', {}, ...item.scopes.map(
        (scope) => el('li', {}, SCOPES.find(([key]) => key === scope)?.[1] ?? scope, ' ',
          el('code.meta', {}, scope)),
      ))),
      el('p.hint', {}, 'A key cannot be changed. Make another one, then revoke this one.'),
    ],
    async save(form) {
      const { name, scopes, expires } = form.now;
      if (!name.trim()) throw refusal('name', 'It needs a name.');
      if (!scopes.length) throw refusal('scopes', 'A key that may do nothing is of no use.');
      const until = expires && new Date(`${expires}T23:59:59`);
      if (until && +until < Date.now()) throw refusal('expires', 'This day is over.');
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
      el('h2', {}, `The key “${item.name}”`),
      el('p', {}, 'It is shown once. We keep a fingerprint only, so it cannot be shown again.'),
      el('pre.code', { 'aria-label': 'Key' }, secret),
      copyable(secret, 'Copy the key'),
    ),
    remove: ({ id }) => context.rest.remove(`api-keys/${id}`),
    removal: ['Revoke', ({ name }) => `Revoke “${name}”? What uses it stops at once.`],
  });
}
