// Proactive messages: what the widget shows by itself, and when.

import { el } from '../../shared/dom.js';
import { locale, pieces, t } from '../shell/language.js';
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
  ['anybody', t('Everybody')], ['new', t('On their first visit')], ['returning', t('Who return')],
];

/**
 * @param {MessageForm} form
 * @returns {HTMLElement[]}
 */
const fields = (form) => [
  text(form, 'name', { label: t('Name'), hint: t('Only your team sees it.'), max: 100 }),
  text(form, 'body', {
    label: t('Message'),
    hint: t('One or two sentences. It shows beside the chat button, without a sound.'),
    area: true,
    rows: 3,
    max: 400,
  }),
  text(form, 'sender_name', { label: t('From|sender'), hint: t('Empty: the workspace’s name.'), max: 60 }),
  text(form, 'conditions.path', {
    label: t('On pages'),
    hint: t('A path such as /pricing, or with * for any text: /shop/*. Empty: every page.'),
    code: true,
    max: 200,
  }),
  number(form, 'conditions.seconds', {
    label: t('After|time'), unit: t('seconds on the page'), min: 0, max: SECONDS_MAX,
  }),
  number(form, 'conditions.scroll_percent', {
    label: t('Scrolled at least'), unit: t('% of the page'), min: 0, max: 100,
  }),
  select(form, 'conditions.audience', { label: t('For visitors'), options: AUDIENCES }),
  text(form, 'attributes', {
    label: t('With attributes'),
    hint: t('One a line, at most {}, such as plan=trial: as the page sets them by chirrup.setAttributes.', ATTRIBUTES_MAX),
    area: true,
    rows: 2,
    code: true,
    max: 2000,
  }),
  toggle(form, 'conditions.when_open', { label: t('Only within business hours') }),
  toggle(form, 'conditions.when_available', { label: t('Only while an operator is available') }),
  toggle(form, 'conditions.once', { label: t('Once per visitor') }),
  choice(form, 'is_enabled', { label: t('State'), options: [[true, t('On')], [false, t('Off')]] }),
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
    throw refusal('attributes', t('Enter at most {} lines such as plan=trial.', ATTRIBUTES_MAX));
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
  if (!name.trim()) throw refusal('name', t('Enter a name.'));
  if (!body.trim()) throw refusal('body', t('Enter a message.'));
  const { path, seconds, scroll_percent: scroll } = conditions;
  if (path && !/^[/*]/.test(path)) {
    throw refusal('conditions.path', t('Begin with / or *, for example /shop/*.'));
  }
  if (!Number.isInteger(seconds) || seconds < 0 || seconds > SECONDS_MAX) {
    throw refusal('conditions.seconds', t('Enter a whole number from {1} to {2}.', 0, SECONDS_MAX));
  }
  if (!Number.isInteger(scroll) || scroll < 0 || scroll > 100) {
    throw refusal('conditions.scroll_percent', t('Enter a whole number from {1} to {2}.', 0, 100));
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
const counts = ({ shown, answered }) => t('{1} shown, {2} answered',
  shown.toLocaleString(locale), answered.toLocaleString(locale));

/** @param {SettingsContext} context */
export async function open(context) {
  const { settings } = await context.workspace.load();
  const page = await collection(context, /** @type {Options} */ ({
    name: 'proactive',
    title: t('Proactive messages'),
    lead: t('The widget speaks first when the conditions are met. A reply begins a conversation.'),
    one: t('Proactive message'),
    make: t('New proactive message'),
    look: 'bolt',
    empty: [t('No proactive messages yet'), t('Begin with the page on which visitors hesitate, such as the checkout.')],
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
      side: el('span.meta', {}, item.is_enabled ? counts(item) : t('Off')),
    }),
    fields: (form, item, isNew) => [
      ...fields(form),
      !isNew && el('p.hint', {}, counts(item)),
    ],
    async save(form, item, isNew) {
      const body = checked(form.now);
      const answer = isNew ? await context.rest.post('proactive-messages', body)
        : await context.rest.patch(`proactive-messages/${item.id}`, body);
      return { item: Object.assign(item, full(answer?.proactive_message ?? body)) };
    },
    remove: ({ id }) => context.rest.remove(`proactive-messages/${id}`),
    removal: [t('Delete'), ({ name }) => t('Delete “{}”? Its counts are lost.', name)],
  }));
  if (!settings.watching.enabled) page.root.querySelector('.settings')?.prepend(el('p.hint', {},
    ...pieces('Visitors see none of these until {} is on.',
      el('a', { href: '#/settings/visitors' }, t('Visitors on the site')))));
  return page;
}
