// Webhooks: the addresses that the gateway sends events to, and the log of deliveries.

import { el } from '../../shared/dom.js';
import { collection, every } from './collection.js';
import { deliveries } from './deliveries.js';
import { copyable, text, toggle } from './fields.js';
import { refusal } from './form.js';
import { checks } from './rows.js';
import { lockedFor } from './pane.js';

/** @typedef {import('./pane.js').SettingsContext} SettingsContext */

/** @type {[value: string, words: string][]} */
const EVENTS = [
  ['conversation.created', 'A conversation begins'], ['message.created', 'A message is written'],
  ['conversation.claimed', 'Somebody claims it'], ['conversation.assigned', 'It is assigned'],
  ['conversation.transferred', 'It is transferred'], ['conversation.unassigned', 'It waits again'],
  ['conversation.handover', 'A person is asked for'], ['conversation.closed', 'It is closed'],
  ['conversation.reopened', 'It is reopened'], ['rating.created', 'A visitor rates it'],
  ['visitor.created', 'A visitor is new'],
];
/** @param {SettingsContext} context */
export function open(context) {
  return collection(context, {
    name: 'webhooks',
    title: 'Webhooks',
    lead: 'Tell other systems what happens. Deliveries are signed, repeated until they arrive, and in order.',
    noun: 'webhook',
    look: 'ext',
    empty: ['No webhook yet', 'Add the address of a system that should know what happens here.'],
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
        item.is_enabled ? kinds(item.events.length) : 'Off'),
    }),
    fields: (form, item, isNew) => {
      /** @type {[value: string, words: string][]} */
      const more = item.events.filter((event) => !EVENTS.some(([key]) => key === event)).map(
        (event) => [event, event]
      );
      return [
        text(form, 'url', {
          label: 'Address',
          hint: 'Beginning with https://. Addresses of your own network are refused.',
          type: 'url',
          code: true,
          max: 2048,
        }),
        checks(form, 'events', { label: 'What it is told', hint: 'Nothing ticked means everything.',
          options: [...EVENTS, ...more] }),
        toggle(form, 'is_enabled', { label: 'Delivers', hint: 'Off: what happens meanwhile is not told later' }),
        !isNew && deliveries(context.rest, item.id, !form.locked),
      ];
    },
    async save(form, item, isNew) {
      const { url, events, is_enabled: isEnabled } = form.now;
      if (!/^https?:\/\/[^\s/]+/.test(url.trim())) {
        throw refusal('url', 'This is not an address. Begin with https://.');
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
      el('h2', {}, `The secret for ${hostOf(item.url)}`),
      el('p', {}, 'With it your system checks that a delivery comes from here. It is shown once.'),
      el('pre.code', { 'aria-label': 'Secret' }, secret),
      copyable(secret, 'Copy the secret'),
    ),
    remove: ({ id }) => context.rest.remove(`webhooks/${id}`),
    removal: ['Delete', ({ url }) => `Delete ${hostOf(url)}? What waits for it is dropped.`],
  });
}

/** @param {number} count of events, 0 for all */
const kinds = (count) => !count ? 'Everything' : count === 1 ? '1 kind' : `${count} kinds`;

/** @param {string} url */
function hostOf(url) {
  try { return new URL(url).host; } catch { return url; }
}
