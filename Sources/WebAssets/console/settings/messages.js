// The page for automatic messages and forms: greeting, away message, the form before a chat, the
// offline form and the rating.

import { el } from '../../shared/dom.js';
import { text, toggle } from './fields.js';
import { Form, refusal, saveBar } from './form.js';
import { cell, list, pick } from './rows.js';
import { lockedFor, pane } from './pane.js';

/** @typedef {import('../../shared/dom.js').Child} Child */
/**
 * @typedef {Pick<WorkspaceSettings, 'greeting_message' | 'away_message' | 'prechat' | 'offline'
 *   | 'rating'>} Values
 */

/** @type {[value: string, words: string][]} */
const TYPES = [['text', 'Text'], ['email', 'Email'], ['select', 'Choice']];
/**
 * The fields that the gateway knows, by key.
 * @type {Record<string, string>}
 */
const KNOWN = { name: 'Name', email: 'Email' };
const KEY_MAX = 40; // characters
const QUESTIONS_MAX = 8;

/**
 * @param {WorkspaceSettings} settings
 * @returns {Values}
 */
const only = ({ greeting_message, away_message, prechat, offline, rating }) => (
  { greeting_message, away_message, prechat, offline, rating }
);

/**
 * The key of a question, from its label.
 * @param {string} label
 */
const slug = (label) => label.trim().toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '_')
  .replace(/^_|_$/g, '').slice(0, KEY_MAX);

/**
 * The changed settings to send. Those that are incomplete are refused.
 * @param {Form<Values>} form
 * @returns {Partial<Values>}
 */
function checked(form) {
  const now = form.now;
  for (const key of /** @type {const} */ (['greeting_message', 'away_message'])) {
    if (now[key].enabled && !now[key].text.trim()) {
      throw refusal(`${key}.text`, 'Write what it says, or switch it off.');
    }
  }
  const fields = now.prechat.fields.map((one) => cleaned(one));
  if (now.prechat.enabled && !fields.length) {
    throw refusal('prechat.fields', 'Add a question, or switch the form off.');
  }
  if (new Set(fields.map(({ key }) => key)).size < fields.length) {
    throw refusal('prechat.fields', 'Two questions have the same name.');
  }
  const all = { ...now, prechat: { ...now.prechat, fields } };
  return Object.fromEntries(Object.entries(all).filter(
    ([key]) => form.changes.some((path) => path.startsWith(`${key}.`))
  ));
}

/**
 * @param {import('./pane.js').SettingsContext} context
 * @returns {Promise<import('./pane.js').SettingsPage>}
 */
export async function open(context) {
  const known = await context.workspace.load();
  const form = new Form(only(known.settings), {
    keep: `${context.session().operator.id}:messages`,
    locked: lockedFor(context),
  });
  const save = () => form.save(async () => {
    const sent = checked(form);
    return only((await context.workspace.save(sent)).settings);
  });
  /** @type {[path: string, part: HTMLElement][]} */
  const parts = [];
  const follow = () => { for (const [path, part] of parts) part.hidden = !form.get(path); };
  /**
   * A part that is shown while a switch is on.
   * @param {string} path of the switch
   * @param {HTMLElement} field
   */
  const when = (path, field) => {
    const part = el('div.settings-part', {}, field);
    parts.push([path, part]);
    return part;
  };
  form.onChange(() => { follow(); context.changed(); });
  const { bar, submit } = saveBar(form, { save });
  const body = fields(form, when);
  follow();
  return {
    root: pane({
      title: 'Messages and forms',
      lead: 'What is said without anybody typing it.',
      submit,
      bar,
      body,
    }),
    unsaved: () => form.changes.length,
  };
}

/**
 * @param {Form<Values>} form
 * @param {(path: string, field: HTMLElement) => HTMLElement} when
 */
function fields(form, when) {
  return [
    toggle(form, 'greeting_message.enabled', {
      label: 'Answer the first message',
      hint: 'At once, by the bot, while an operator is on the way',
    }),
    when('greeting_message.enabled', text(form, 'greeting_message.text', {
      label: 'It says', area: true, max: 2000,
      placeholder: 'Thank you for writing. Somebody answers in a few minutes.' })),
    toggle(form, 'away_message.enabled', {
      label: 'Say when nobody is there',
      hint: 'Outside your hours, or while no operator is available',
    }),
    when('away_message.enabled', text(form, 'away_message.text', {
      label: 'It says', area: true, max: 2000,
      placeholder: 'We are back at 9:00. Leave your email and we answer there.' })),
    el('hr'),
    toggle(form, 'prechat.enabled', {
      label: 'Ask before a chat begins',
      hint: 'Every question costs some visitors. Ask what you need to answer.',
    }),
    when('prechat.enabled', questions(form)),
    el('hr'),
    toggle(form, 'offline.enabled', {
      label: 'A form outside your hours',
      hint: 'Name, email and message; it becomes a conversation that waits for you',
    }),
    when('offline.enabled', text(form, 'offline.text', { label: 'Above the form', area: true, rows: 2,
      max: 1000, placeholder: 'We are closed. Write to us and we answer by email.' })),
    el('hr'),
    toggle(form, 'rating.enabled', {
      label: 'Ask for a rating',
      hint: 'One to five, when a conversation is closed',
    }),
    when('rating.enabled', text(form, 'rating.question', {
      label: 'Question', hint: 'Empty: the widget’s own, in the visitor’s language.', max: 200,
      empty: null })),
  ];
}

/** @param {Form<Values>} form */
function questions(form) {
  const { locked } = form;
  return list(form, 'prechat.fields', {
    label: 'Questions',
    hint: 'Name and email are kept with the visitor, the others with the conversation.',
    add: 'Add a question',
    row: 'Question',
    max: QUESTIONS_MAX,
    /** @returns {PrechatField} */
    blank: () => {
      const used = form.now.prechat.fields.map(({ key }) => key);
      const key = Object.keys(KNOWN).find((name) => !used.includes(name)) ?? '';
      return { key, label: KNOWN[key] ?? '', type: key === 'email' ? 'email' : 'text',
        required: false };
    },
    draw: (item, change) => [
      cell('Question', item.label, (label) => change({ label }), { locked, maxlength: 100 }),
      pick('Answer', item.type, TYPES, (type) => change({ type }, true), { locked }),
      item.type === 'select' && cell('Choices, with commas between', (item.options ?? []).join(', '),
        (value) => change({ options: value.split(',').map((one) => one.trim()).filter(Boolean) }),
        { locked, maxlength: 500 }),
      required(item, change, locked),
    ],
  });
}

/**
 * @param {PrechatField} item
 * @param {(change: Partial<PrechatField>) => void} change
 * @param {string} locked
 */
function required(item, change, locked) {
  const control = el('input', {
    type: 'checkbox',
    disabled: !!locked,
    change: () => { change({ required: control.checked }); },
  });
  control.checked = !!item.required;
  return el('label.check-cell', {}, control, el('span', {}, 'Must be answered'));
}

/**
 * The question to send. One that is incomplete is refused.
 * @param {PrechatField} field
 * @returns {PrechatField}
 */
function cleaned({ key, label, type, required, options }) {
  if (!label.trim()) throw refusal('prechat.fields', 'A question is empty.');
  if (type === 'select' && (options ?? []).length < 2) {
    throw refusal('prechat.fields', `“${label}” needs two choices at least.`);
  }
  return { key: key || slug(label), label: label.trim(), type, required: !!required,
    ...(type === 'select' && { options }) };
}
