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
  ['conversation.created', 'Conversation started'], ['message.created', 'Message sent'],
  ['conversation.claimed', 'Conversation claimed'], ['conversation.assigned', 'Conversation assigned'],
  ['conversation.transferred', 'Conversation transferred'], ['conversation.unassigned', 'Conversation back in the queue'],
  ['conversation.handover', 'Operator requested'], ['conversation.closed', 'Conversation closed'],
  ['conversation.reopened', 'Conversation reopened'], ['rating.created', 'Conversation rated'],
  ['visitor.created', 'New visitor'], ['visitor.merged', 'Visitors merged'],
];
/** @param {SettingsContext} context */
export function open(context) {
  return collection(context, {
    name: 'webhooks',
    title: 'Webhooks',
    lead: 'Notify other systems of events. Deliveries are signed, in order, and retried if they fail.',
    noun: 'webhook',
    look: 'ext',
    empty: ['No webhooks yet', 'Add the URL of a system that should receive events.'],
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
          label: 'URL',
          hint: 'Starts with https://. Addresses in a private network are refused.',
          type: 'url',
          code: true,
          max: 2048,
        }),
        checks(form, 'events', { label: 'Events', hint: 'Select none to receive all events.',
          options: [...EVENTS, ...more] }),
        toggle(form, 'is_enabled', { label: 'Active', hint: 'Off: events are skipped, and not sent later' }),
        !isNew && deliveries(context.rest, item.id, !form.locked),
      ];
    },
    async save(form, item, isNew) {
      const { url, events, is_enabled: isEnabled } = form.now;
      if (!/^https?:\/\/[^\s/]+/.test(url.trim())) {
        throw refusal('url', 'Enter a URL that starts with https://.');
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
      el('p', {}, 'Use it to verify that deliveries come from Chirrup. Copy it now: it is shown only once.'),
      el('pre.code', { 'aria-label': 'Secret' }, secret),
      copyable(secret, 'Copy secret'),
    ),
    remove: ({ id }) => context.rest.remove(`webhooks/${id}`),
    removal: ['Delete', ({ url }) => `Delete ${hostOf(url)}? Pending deliveries are dropped.`],
  });
}

/** @param {number} count of events, 0 for all */
const kinds = (count) => !count ? 'All events' : count === 1 ? '1 event' : `${count} events`;

/** @param {string} url */
function hostOf(url) {
  try { return new URL(url).host; } catch { return url; }
}
