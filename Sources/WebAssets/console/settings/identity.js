// Identity secrets: the website's server signs its visitors' identities with one. A secret is shown
// once. A new one ends the others after an overlap.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { collection, every } from './collection.js';
import { copyable, select } from './fields.js';
import { lockedFor } from './pane.js';
import { ago, day } from './times.js';

/** @type {[value: string, words: string][]} */
const OVERLAPS = [
  ['0', t('End at once')], ['1', t('Accepted for 1 hour')], ['24', t('Accepted for 1 day')],
  ['168', t('Accepted for 7 days')], ['720', t('Accepted for 30 days')],
];

/** @param {IdentitySecret} secret */
const state = ({ ends_at: end }) => end ? t('Ends {}', day(end)) : t('In use');

/** @param {import('./pane.js').SettingsContext} context */
export function open(context) {
  return collection(context, {
    name: 'identity',
    title: t('Identity secrets'),
    lead: t('Your server signs who a visitor is, as a JWT with HS256, and your page passes it to chirrup.identify().'),
    one: t('Identity secret'),
    make: t('New secret'),
    verb: t('Create secret'),
    look: 'person',
    empty: [t('No secrets yet'), t('Create one when visitors who are logged in on your website should be recognized.')],
    locked: lockedFor(context),
    fixed: true,
    load: () => every((query) => context.rest.get('identity-secrets', query), 'identity_secrets'),
    key: ({ id }) => id,
    heading: ({ created_at: made }) => t('Secret of {}', day(made)),
    blank: () => ({ id: '', created_at: '', ends_at: null }),
    values: () => ({ overlap: '24' }),
    row: (item) => ({
      title: t('Secret of {}', day(item.created_at)),
      meta: t('created {}', ago(item.created_at)),
      text: item.id,
      side: el('span.meta', {}, state(item)),
    }),
    fields: (form, item, isNew) => isNew ? [
      select(form, 'overlap', {
        label: t('Other secrets'),
        hint: t('Until then, change the secret on your server. End them at once if one leaked.'),
        options: OVERLAPS,
      }),
    ] : [
      el('dl.facts', {},
        el('dt', {}, t('Created')), el('dd', {}, day(item.created_at)),
        el('dt', {}, t('Ends')), el('dd', {}, item.ends_at ? day(item.ends_at) : t('Never'))),
      el('p.hint', {}, t('Secrets cannot be changed. Create a new one, then end this one.')),
    ],
    async save(form) {
      const answer = await context.rest.post('identity-secrets', {
        overlap_hours: Number(form.now.overlap),
      });
      return { item: answer.identity_secret, secret: answer.secret };
    },
    once: (secret) => el(
      'div.field',
      {},
      el('h2', {}, t('Your new secret')),
      el('p', {}, t('Copy it now. It is stored encrypted and cannot be shown again.')),
      el('pre.code', { 'aria-label': t('Secret') }, secret),
      copyable(secret, t('Copy secret')),
    ),
    remove: ({ id }) => context.rest.remove(`identity-secrets/${id}`),
    removal: [t('End'), () => t('End this secret? Identities that it signed are refused at once.')],
  });
}
