// API keys for servers that call the REST API. A key is shown once. It can be revoked, not changed.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { collection, every } from './collection.js';
import { copyable, text } from './fields.js';
import { refusal } from './form.js';
import { checks } from './rows.js';
import { lockedFor } from './pane.js';
import { ago, day } from './times.js';

/** @type {[value: string, words: string][]} */
const SCOPES = [
  ['conversations:read', t('Read conversations')], ['conversations:write', t('Reply to and change conversations')],
  ['visitors:read', t('Read visitors')], ['visitors:write', t('Change visitors')],
  ['settings:read', t('Read settings')], ['settings:write', t('Change settings')],
  ['members:read', t('Read members')], ['members:invite', t('Invite agents')],
  ['members:manage', t('Change and remove agents')],
  ['webhooks:read', t('Read webhooks')], ['webhooks:write', t('Change webhooks')],
  ['analytics:read', t('Read analytics')], ['audit:read', t('Read the audit log')],
];

/** @param {ApiKey} key */
function state({ last_used_at: used, expires_at: end, revoked_at: revoked }) {
  if (revoked) return t('Revoked');
  if (end && Date.parse(end) < Date.now()) return t('Expired');
  return used ? t('last used {}', ago(used)) : t('never used');
}

/** @param {import('./pane.js').SettingsContext} context */
export function open(context) {
  return collection(context, {
    name: 'keys',
    title: t('API keys'),
    lead: t('For servers that call the REST API, which the page /api describes. They send the key in the header “Authorization: Bearer …”.'),
    one: t('API key'),
    make: t('New key'),
    verb: t('Create key'),
    look: 'lock',
    empty: [t('No keys yet'), t('Create one when your own software should call the REST API.')],
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
        label: t('Name'),
        hint: t('What the key is for, so that you know what stops working when you revoke it.'),
        max: 100,
      }),
      checks(form, 'scopes', { label: t('Permissions'), options: SCOPES }),
      text(form, 'expires', { label: t('Expires on'), hint: t('Leave empty for a key that does not expire.'), type: 'date' }),
    ] : [
      el('dl.facts', {},
        el('dt', {}, t('Created')), el('dd', {}, day(item.created_at)),
        el('dt', {}, t('Last used')), el('dd', {}, item.last_used_at ? ago(item.last_used_at) : t('Never')),
        el('dt', {}, t('Expires')), el('dd', {}, item.expires_at ? day(item.expires_at) : t('Never'))),
      el('div.field', {}, el('span.label', {}, t('Permissions')), el('ul.plain', {}, ...item.scopes.map(
        (scope) => el('li', {}, SCOPES.find(([key]) => key === scope)?.[1] ?? scope, ' ',
          el('code.meta', {}, scope)),
      ))),
      el('p.hint', {}, t('Keys cannot be changed. Create a new one, then revoke this one.')),
    ],
    async save(form) {
      const { name, scopes, expires } = form.now;
      if (!name.trim()) throw refusal('name', t('Enter a name.'));
      if (!scopes.length) throw refusal('scopes', t('Choose at least one permission.'));
      const until = expires && new Date(`${expires}T23:59:59`);
      if (until && +until < Date.now()) throw refusal('expires', t('Choose a date in the future.'));
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
      el('h2', {}, t('Your new key “{}”', item.name)),
      el('p', {}, t('Copy it now. Only its hash is stored, so it cannot be shown again.')),
      el('pre.code', { 'aria-label': t('Key') }, secret),
      copyable(secret, t('Copy key')),
    ),
    remove: ({ id }) => context.rest.remove(`api-keys/${id}`),
    removal: [t('Revoke'), ({ name }) => t('Revoke “{}”? Whatever uses it stops working at once.', name)],
  });
}
