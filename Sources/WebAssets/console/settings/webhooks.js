// Webhooks: addresses of other systems that are told what happens, and what became of each
// delivery.

import { el, icon } from '../../shared/dom.js';
import { sentence } from '../shell/rest.js';
import { collection, every } from './collection.js';
import { copyable, text, toggle } from './fields.js';
import { refusal } from './form.js';
import { checks } from './rows.js';
import { lockedFor } from './pane.js';
import { ago, moment } from './times.js';

const EVENTS = [
  ['conversation.created', 'Conversation started'], ['message.created', 'Message sent'],
  ['conversation.claimed', 'Conversation claimed'], ['conversation.assigned', 'Conversation assigned'],
  ['conversation.transferred', 'Conversation transferred'], ['conversation.unassigned', 'Conversation back in the queue'],
  ['conversation.handover', 'Operator requested'], ['conversation.closed', 'Conversation closed'],
  ['conversation.reopened', 'Conversation reopened'], ['rating.created', 'Conversation rated'],
  ['visitor.created', 'New visitor'],
];
const AGAIN = 3000; // ms until a log with something that waits is asked for again
const STATES = { pending: 'Pending', delivered: 'Delivered', failed: 'Failed' };

export function open(context) {
  return collection(context, {
    name: 'webhooks',
    title: 'Webhooks',
    lead: 'Notify other systems of events. Deliveries are signed, in order, and retried if they fail.',
    noun: 'webhook',
    look: 'ext',
    empty: ['No webhooks yet', 'Add the URL of a system that should receive events.'],
    locked: lockedFor(context),
    load: () => every(context.rest, 'webhooks', 'webhooks'),
    key: ({ id }) => id,
    heading: ({ url }) => hostOf(url),
    blank: () => ({ url: '', events: [], is_enabled: true }),
    row: (item) => ({
      title: hostOf(item.url),
      meta: item.url,
      text: item.url,
      side: el('span.meta', {}, el(`span.dot${item.is_enabled ? '' : '.off'}`),
        item.is_enabled ? kinds(item.events.length) : 'Off'),
    }),
    fields: (form, item, isNew, editor) => {
      const more = item.events.filter((event) => !EVENTS.some(([key]) => key === event));
      return [
        text(form, 'url', { label: 'URL', hint: 'Starts with https://. Addresses in a private network are refused.', type: 'url', code: true, max: 2048 }),
        checks(form, 'events', { label: 'Events', hint: 'Select none to receive all events.',
          options: [...EVENTS, ...more.map((event) => [event, event])] }),
        toggle(form, 'is_enabled', { label: 'Active', hint: 'Off: events are skipped, and not sent later' }),
        !isNew && deliveries(context, item, editor),
      ].filter(Boolean);
    },
    async save(form, item, isNew) {
      const { url, events, is_enabled: isEnabled } = form.now;
      if (!/^https?:\/\/[^\s/]+/.test(url.trim())) {
        throw refusal('url', 'Enter a URL that starts with https://.');
      }
      const body = { url: url.trim(), events, is_enabled: isEnabled };
      if (isNew) {
        const answer = await context.rest.post('webhooks', body);
        const { secret, ...made } = answer.webhook ?? answer;
        return { item: made, secret: secret ?? answer.secret };
      }
      const answer = await context.rest.patch(`webhooks/${item.id}`, body);
      return Object.assign(item, answer?.webhook ?? answer ?? body);
    },
    once: ({ secret }, item) => secret && el(
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

const kinds = (count) => !count ? 'All events' : count === 1 ? '1 event' : `${count} events`;

function hostOf(url) {
  try { return new URL(url).host; } catch { return url; }
}

/** The delivery log, a test, and sending again. */
function deliveries(context, { id }, { form }) {
  const place = el('div.deliveries');
  const told = el('p.hint', { role: 'status' });
  const acts = !form.locked;
  let timer = 0;

  async function load() {
    try {
      const answer = await context.rest.get(`webhooks/${id}/deliveries`, { limit: 20 });
      draw(answer.deliveries);
      clearTimeout(timer);
      // what is under way is looked at again, for as long as somebody sees it
      if (answer.deliveries.some(({ status }) => status === 'pending')) {
        timer = setTimeout(() => /** @type {any} */ (place).checkVisibility?.() && load(), AGAIN);
      }
    } catch (error) {
      place.replaceChildren(el('p.hint', {}, sentence(error)));
    }
  }

  async function act(path, words) {
    told.textContent = '';
    try {
      await context.rest.post(`webhooks/${id}/${path}`);
      told.textContent = words;
    } catch (error) {
      told.textContent = sentence(error);
    }
    await load();
  }

  function draw(list) {
    place.replaceChildren(list.length ? el('ul.plain.log-list', {}, ...list.map((one) => el(
      'li',
      {},
      icon(one.status === 'delivered' ? 'check' : one.status === 'failed' ? 'alert' : 'clock', `small ${one.status}`),
      el('span.item-text', {},
        el('b', {}, one.event),
        el('span.item-meta', { title: moment(one.created_at) }, [
          STATES[one.status] ?? one.status,
          one.attempts > 1 && `${one.attempts} attempts`,
          ago(one.created_at),
          one.status !== 'delivered' && one.last_error,
          one.status === 'pending' && Date.parse(one.next_attempt_at) > Date.now() + 1000
            && `next attempt ${ago(one.next_attempt_at)}`,
        ].filter(Boolean).join(', '))),
      acts && one.status !== 'pending' && el('button.button.quiet', {
        type: 'button',
        'aria-label': `Send ${one.event} of ${moment(one.created_at)} again`,
        click: () => act(`deliveries/${one.id}/redeliver`, 'Queued again, with the same ID.'),
      }, 'Send again'),
    ))) : el('p.hint', {}, 'No deliveries yet. Send a test to check the connection.'));
  }

  load();
  return el(
    'section.field',
    { 'aria-label': 'Deliveries' },
    el('div.label-line', {}, el('span.label', {}, 'Deliveries'), el('span.grow'),
      el('button.button.quiet', { type: 'button', click: load }, icon('reload', 'small'), 'Refresh'),
      acts && el('button.button', { type: 'button',
        click: () => act('test', 'Test queued. Its result appears below.') }, 'Send test')),
    told,
    place,
  );
}
