// Credentials of other services. A secret is written and never shown again.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { part } from '../shell/rest.js';
import { channels } from './channels.js';
import { collection, every } from './collection.js';
import { text } from './fields.js';
import { refusal, taken } from './form.js';
import { lockedFor } from './pane.js';
import { ago } from './times.js';

/** @param {import('./pane.js').SettingsContext} context */
export function open(context) {
  const below = channels(context);
  return collection(context, {
    name: 'credentials',
    title: t('Credentials'),
    lead: t('Secrets for other services. They are stored encrypted and are never shown again.'),
    one: t('Credential'),
    make: t('New credential'),
    look: 'shield',
    empty: [t('No credentials yet'), t('LINE and Telegram need two each.')],
    locked: lockedFor(context),
    load: () => every((query) => context.rest.get('credentials', query), 'credentials'),
    key: ({ provider, name }) => name && name !== 'default' ? `${provider}:${name}` : provider,
    heading: ({ provider }) => provider,
    blank: () => ({ provider: '', name: '', updated_at: '' }),
    values: ({ provider, name }) => ({ provider, name, secret: '' }),
    row: (item) => ({
      title: item.provider,
      meta: item.name === 'default' ? '' : item.name,
      side: el('span.meta', {}, t('updated {}', ago(item.updated_at))),
    }),
    fields: (form, item, isNew) => [
      isNew && text(form, 'provider', {
        label: t('Service'),
        hint: t('In lower case, for example line.'),
        max: 64,
        code: true,
      }),
      isNew && text(form, 'name', {
        label: t('Name'),
        hint: t('For a channel, one of those that it names below the list.'),
        max: 100,
      }),
      text(form, 'secret', {
        label: isNew ? t('Secret') : t('New secret'),
        hint: isNew ? '' : t('The current secret is not shown. Enter a new one to replace it.'),
        type: 'password',
        autocomplete: 'new-password',
        secret: true,
        max: 8192,
      }),
    ],
    async save(form, item, isNew) {
      const provider = isNew ? form.now.provider.trim().toLowerCase() : item.provider;
      const name = (isNew ? form.now.name.trim() : item.name) || 'default';
      if (!/^[a-z][a-z0-9_-]{0,63}$/.test(provider)) {
        throw refusal('provider', t('Use lower-case letters, digits, - and _, starting with a letter.'));
      }
      if (!form.now.secret) throw refusal('secret', t('Enter the secret.'));
      // a new one must not replace one that something depends on
      const answer = await context.rest.put(`credentials/${part(provider)}`, {
        ...(name !== 'default' && { name }),
        secret: form.now.secret,
      }, isNew).catch(taken(name === 'default' ? 'provider' : 'name',
        t('This credential already exists. Open it to replace its secret.')));
      const updated_at = new Date().toISOString();
      return { item: answer?.credential ?? { provider, name, updated_at } };
    },
    below: () => [below.root],
    after: () => { void below.reload(); },
    saved: t('Secret replaced'),
    remove: ({ provider, name }) => context.rest.remove(`credentials/${part(provider)}${
      name && name !== 'default' ? `?name=${part(name)}` : ''}`),
    removal: [t('Delete'), ({ provider }) => t('Delete it? Whatever uses {} stops working.', provider)],
  });
}
