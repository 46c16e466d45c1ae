// Webhooks: the addresses that the gateway sends events to, and the log of deliveries.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { collection, every } from './collection.js';
import { deliveries } from './deliveries.js';
import { copyable, text, toggle } from './fields.js';
import { refusal } from './form.js';
import { checks } from './rows.js';
import { lockedFor } from './pane.js';

/** @typedef {import('./pane.js').SettingsContext} SettingsContext */

/** @type {[value: string, words: string][]} */
const EVENTS = [
  ['conversation.created', t('Conversation started')], ['message.created', t('Message sent')],
  ['conversation.claimed', t('Conversation claimed')], ['conversation.assigned', t('Conversation assigned')],
  ['conversation.transferred', t('Conversation transferred')], ['conversation.unassigned', t('Conversation back in the queue')],
  ['conversation.handover', t('Operator requested')], ['conversation.closed', t('Conversation closed')],
  ['conversation.reopened', t('Conversation reopened')], ['rating.created', t('Conversation rated')],
  ['visitor.created', t('New visitor')], ['visitor.merged', t('Visitors merged')],
];
/** @param {SettingsContext} context */
export function open(context) {
  return collection(context, {
    name: 'webhooks',
    title: t('Webhooks'),
    lead: t('Notify other systems of events. Deliveries are signed, in order, and retried if they fail.'),
    one: t('Webhook'),
    make: t('New webhook'),
    look: 'ext',
    empty: [t('No webhooks yet'), t('Add the URL of a system that should receive events.')],
    locked: lockedFor(context),
    load: () => every((query) => context.rest.get('webhooks', query), 'webhooks'),
    key: ({ id }) => id,
    heading: ({ url }) => hostOf(url),
    blank: () => ({ id: '', url: '', events: [], is_enabled: true }),
    values: (item) => item,
    row: (item) => ({
      title: hostOf(item.url),
      meta: item.url,
      text: item.url,
      side: el('span.meta', {}, el(`span.dot${item.is_enabled ? '' : '.off'}`),
        item.is_enabled ? kinds(item.events.length) : t('Off')),
    }),
    fields: (form, item, isNew) => {
      /** @type {[value: string, words: string][]} */
      const more = item.events.filter((event) => !EVENTS.some(([key]) => key === event)).map(
        (event) => [event, event]
      );
      return [
        text(form, 'url', {
          label: 'URL',
          hint: t('Starts with https://. Addresses in a private network are refused.'),
          type: 'url',
          code: true,
          max: 2048,
        }),
        checks(form, 'events', { label: t('Events'), hint: t('Select none to receive all events.'),
          options: [...EVENTS, ...more] }),
        toggle(form, 'is_enabled', { label: t('Active'), hint: t('Off: events are skipped, and not sent later') }),
        !isNew && deliveries(context.rest, item.id, !form.locked),
      ];
    },
    async save(form, item, isNew) {
      const { url, events, is_enabled: isEnabled } = form.now;
      if (!/^https?:\/\/[^\s/]+/.test(url.trim())) {
        throw refusal('url', t('Enter a URL that starts with https://.'));
      }
      const body = { url: url.trim(), events, is_enabled: isEnabled };
      if (isNew) {
        const answer = await context.rest.post('webhooks', body);
        const { secret, ...made } = answer.webhook;
        return { item: made, secret };
      }
      const answer = await context.rest.patch(`webhooks/${item.id}`, body);
      return { item: Object.assign(item, answer?.webhook ?? body) };
    },
    once: (secret, item) => el(
      'div.field',
      {},
      el('h2', {}, t('The secret for {}', hostOf(item.url))),
      el('p', {}, t('Use it to verify that deliveries come from Chirrup. Copy it now: it is shown only once.')),
      el('pre.code', { 'aria-label': t('Secret') }, secret),
      copyable(secret, t('Copy secret')),
    ),
    remove: ({ id }) => context.rest.remove(`webhooks/${id}`),
    removal: [t('Delete'), ({ url }) => t('Delete {}? Pending deliveries are dropped.', hostOf(url))],
  });
}

/** @param {number} count of events, 0 for all */
const kinds = (count) => !count ? t('All events') : count === 1 ? t('1 event')
  : t('{} events', count);

/** @param {string} url */
function hostOf(url) {
  try { return new URL(url).host; } catch { return url; }
}
