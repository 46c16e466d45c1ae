// Proactive messages: what the widget shows by itself, and when.

import { el } from '../../shared/dom.js';
import { collection, every } from './collection.js';
import { choice, number, select, text, toggle } from './fields.js';
import { refusal } from './form.js';

/** @typedef {import('./pane.js').SettingsContext} SettingsContext */
/**
 * `attributes` are lines of name=value.
 * @typedef {ProactiveMessage & {attributes: string}} Message
 */
/** @typedef {import('./form.js').Form<Message>} MessageForm */
/** @typedef {import('./collection.js').CollectionOptions<Message, Message>} Options */

const SECONDS_MAX = 3600;
const ATTRIBUTES_MAX = 5;

/** @type {[value: string, words: string][]} */
const AUDIENCES = [
  ['anybody', 'Everybody'], ['new', 'On their first visit'], ['returning', 'Who return'],
];

/**
 * @param {MessageForm} form
 * @returns {HTMLElement[]}
 */
const fields = (form) => [
  text(form, 'name', { label: 'Name', hint: 'Only your team sees it.', max: 100 }),
  text(form, 'body', {
    label: 'Message',
    hint: 'One or two sentences. It shows beside the chat button, without a sound.',
    area: true,
    rows: 3,
    max: 400,
  }),
  text(form, 'sender_name', { label: 'From', hint: 'Empty: the workspace’s name.', max: 60 }),
  text(form, 'conditions.path', {
    label: 'On pages',
    hint: 'A path such as /pricing, or with * for any text: /shop/*. Empty: every page.',
    code: true,
    max: 200,
  }),
  number(form, 'conditions.seconds', {
    label: 'After', unit: 'seconds on the page', min: 0, max: SECONDS_MAX,
  }),
  number(form, 'conditions.scroll_percent', {
    label: 'Scrolled at least', unit: '% of the page', min: 0, max: 100,
  }),
  select(form, 'conditions.audience', { label: 'For visitors', options: AUDIENCES }),
  text(form, 'attributes', {
    label: 'With attributes',
    hint: `One a line, at most ${ATTRIBUTES_MAX}, such as plan=trial: as the page sets them by `
      + 'chirrup.setAttributes.',
    area: true,
    rows: 2,
    code: true,
    max: 2000,
  }),
  toggle(form, 'conditions.when_open', { label: 'Only within business hours' }),
  toggle(form, 'conditions.when_available', { label: 'Only while an operator is available' }),
  toggle(form, 'conditions.once', { label: 'Once per visitor' }),
  choice(form, 'is_enabled', { label: 'State', options: [[true, 'On'], [false, 'Off']] }),
];

/**
 * The attributes of such lines. The page compares them as text.
 * @param {string} lines
 */
function attributesOf(lines) {
  const pairs = lines.split('\n').filter((line) => line.trim()).map((line) => {
    const [name, ...value] = line.split('=');
    return [name.trim(), value.join('=').trim()];
  });
  if (pairs.length > ATTRIBUTES_MAX || pairs.some(([name, value]) => !name || !value)) {
    throw refusal('attributes', `Enter at most ${ATTRIBUTES_MAX} lines such as plan=trial.`);
  }
  return Object.fromEntries(pairs);
}

/**
 * The message to send. One that is incomplete is refused.
 * @param {Message} message
 */
function checked({
  name, body, sender_name: sender, conditions, attributes, is_enabled: isEnabled,
}) {
  if (!name.trim()) throw refusal('name', 'Enter a name.');
  if (!body.trim()) throw refusal('body', 'Enter a message.');
  const { path, seconds, scroll_percent: scroll } = conditions;
  if (path && !/^[/*]/.test(path)) {
    throw refusal('conditions.path', 'Begin with / or *, for example /shop/*.');
  }
  if (!Number.isInteger(seconds) || seconds < 0 || seconds > SECONDS_MAX) {
    throw refusal('conditions.seconds', `Enter a whole number from 0 to ${SECONDS_MAX}.`);
  }
  if (!Number.isInteger(scroll) || scroll < 0 || scroll > 100) {
    throw refusal('conditions.scroll_percent', 'Enter a whole number from 0 to 100.');
  }
  return {
    name: name.trim(), body: body.trim(), sender_name: sender?.trim() ?? '',
    conditions: { ...conditions, attributes: attributesOf(attributes) }, is_enabled: isEnabled,
  };
}

/** @returns {Message} */
const blank = () => ({
  id: '', name: '', body: '', sender_name: '', is_enabled: true, shown: 0, answered: 0,
  attributes: '',
  conditions: {
    path: '', seconds: 30, scroll_percent: 0, audience: 'anybody', when_open: false,
    when_available: true, once: true, attributes: {},
  },
});

/** @param {ProactiveMessage} message */
const full = (message) => ({
  ...message,
  sender_name: message.sender_name ?? '',
  conditions: { ...blank().conditions, ...message.conditions },
  attributes: Object.entries(message.conditions.attributes ?? {})
    .map(([name, value]) => `${name}=${value}`).join('\n'),
});

/** @param {ProactiveMessage} message */
const counts = ({ shown, answered }) =>
  `${shown.toLocaleString()} shown, ${answered.toLocaleString()} answered`;

/** @param {SettingsContext} context */
export async function open(context) {
  const { settings } = await context.workspace.load();
  const page = await collection(context, /** @type {Options} */ ({
    name: 'proactive',
    title: 'Proactive messages',
    lead: 'The widget speaks first when the conditions are met. A reply begins a conversation.',
    noun: 'proactive message',
    look: 'bolt',
    empty: ['No proactive messages yet', 'Begin with the page on which visitors hesitate, such as the checkout.'],
    load: async () => (await every(
      (query) => context.rest.get('proactive-messages', query),
      'proactive_messages',
    )).map(full),
    key: ({ id }) => id,
    heading: ({ name }) => name,
    blank,
    values: (item) => item,
    row: (item) => ({
      title: item.name,
      meta: item.body,
      text: item.body,
      side: el('span.meta', {}, item.is_enabled ? counts(item) : 'Off'),
    }),
    fields: (form, item, isNew) => [
      ...fields(form),
      !isNew && el('p.hint', {}, `${counts(item)}.`),
    ],
    async save(form, item, isNew) {
      const body = checked(form.now);
      const answer = isNew ? await context.rest.post('proactive-messages', body)
        : await context.rest.patch(`proactive-messages/${item.id}`, body);
      return { item: Object.assign(item, full(answer?.proactive_message ?? body)) };
    },
    remove: ({ id }) => context.rest.remove(`proactive-messages/${id}`),
    removal: ['Delete', ({ name }) => `Delete “${name}”? Its counts are lost.`],
  }));
  if (!settings.watching.enabled) page.root.querySelector('.settings')?.prepend(el('p.hint', {},
    'Visitors see none of these until ',
    el('a', { href: '#/settings/visitors' }, 'Visitors on the site'),
    ' is on.'));
  return page;
}
