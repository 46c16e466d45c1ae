// The page for automatic messages and forms: greeting, away message, the form before a chat, the
// offline form and the rating.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';
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
const TYPES = [['text', t('Text')], ['email', t('Email')], ['select', t('Choice')], ['team', t('Team')]];
/**
 * The fields that the gateway knows, by key.
 * @type {Record<string, string>}
 */
const KNOWN = { name: t('Name'), email: t('Email') };
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
      throw refusal(`${key}.text`, t('Enter the message, or switch it off.'));
    }
  }
  const fields = now.prechat.fields.map((one) => cleaned(one));
  if (now.prechat.enabled && !fields.length) {
    throw refusal('prechat.fields', t('Add a question, or switch the form off.'));
  }
  if (new Set(fields.map(({ key }) => key)).size < fields.length) {
    throw refusal('prechat.fields', t('Two questions are the same. Change one of them.'));
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
      title: t('Messages and forms'),
      lead: t('Automatic messages, and forms that visitors fill in.'),
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
      label: t('Reply to the first message'),
      hint: t('Sent by the bot as soon as a visitor writes'),
    }),
    when('greeting_message.enabled', text(form, 'greeting_message.text', {
      label: t('Message'), area: true, max: 2000,
      placeholder: t('Thank you for your message. We will reply in a few minutes.') })),
    toggle(form, 'away_message.enabled', {
      label: t('Away message'),
      hint: t('Sent outside business hours, and while no operator is available'),
    }),
    when('away_message.enabled', text(form, 'away_message.text', {
      label: t('Message'), area: true, max: 2000,
      placeholder: t('We are back at 9:00. Leave your email and we will reply there.') })),
    el('hr'),
    toggle(form, 'prechat.enabled', {
      label: t('Pre-chat form'),
      hint: t('Each question puts some visitors off. Ask only what you need.'),
    }),
    when('prechat.enabled', questions(form)),
    el('hr'),
    toggle(form, 'offline.enabled', {
      label: t('Offline form'),
      hint: t('Shown outside business hours. What visitors leave becomes a waiting conversation.'),
    }),
    when('offline.enabled', text(form, 'offline.text', { label: t('Text above the form'), area: true, rows: 2,
      max: 1000, placeholder: t('We are closed. Leave a message and we will reply by email.') })),
    el('hr'),
    toggle(form, 'rating.enabled', {
      label: t('Ask for a rating'),
      hint: t('From 1 to 5, when a conversation is closed'),
    }),
    when('rating.enabled', text(form, 'rating.question', {
      label: t('Question'), hint: t('Leave empty for the standard question in the visitor’s language.'), max: 200,
      empty: null })),
  ];
}

/** @param {Form<Values>} form */
function questions(form) {
  const { locked } = form;
  return list(form, 'prechat.fields', {
    label: t('Questions'),
    hint: t('The answers are saved with the visitor.'),
    add: t('Add a question'),
    row: (number) => t('Question {}', number),
    max: QUESTIONS_MAX,
    /** @returns {PrechatField} */
    blank: () => {
      const used = form.now.prechat.fields.map(({ key }) => key);
      const key = Object.keys(KNOWN).find((name) => !used.includes(name)) ?? '';
      return { key, label: KNOWN[key] ?? '', type: key === 'email' ? 'email' : 'text',
        required: false };
    },
    draw: (item, change) => [
      cell(t('Question'), item.label, (label) => change({ label }), { locked, maxlength: 100 }),
      pick(t('Answer type'), item.type, TYPES, (type) => change({ type }, true), { locked }),
      item.type === 'select' && cell(t('Choices, separated by commas'), (item.options ?? []).join(', '),
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
  return el('label.check-cell', {}, control, el('span', {}, t('Required')));
}

/**
 * The question to send. One that is incomplete is refused.
 * @param {PrechatField} field
 * @returns {PrechatField}
 */
function cleaned({ key, label, type, required, options }) {
  if (!label.trim()) throw refusal('prechat.fields', t('Enter the question.'));
  if (type === 'select' && (options ?? []).length < 2) {
    throw refusal('prechat.fields', t('“{}” needs at least two choices.', label));
  }
  return { key: key || slug(label), label: label.trim(), type, required: !!required,
    ...(type === 'select' && { options }) };
}
