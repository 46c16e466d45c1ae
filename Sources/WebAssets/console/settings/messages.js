// What is said without anybody typing it: the answer to a first message, what is said while nobody
// is there, the questions before a chat, the offline form and the rating at the end.

import { el } from '../../shared/dom.js';
import { text, toggle } from './fields.js';
import { Form, refusal, saveBar } from './form.js';
import { cell, list, pick } from './rows.js';
import { lockedFor, pane } from './pane.js';

const KEYS = ['greeting_message', 'away_message', 'prechat', 'offline', 'rating'];
const TYPES = [['text', 'Text'], ['email', 'Email'], ['select', 'Choice']];
const KNOWN = { name: 'Name', email: 'Email' };

const only = (settings) => Object.fromEntries(KEYS.map((key) => [key, settings[key]]));
const slug = (label) => label.trim().toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '_').replace(/^_|_$/g, '')
  .slice(0, 40);

/** What was changed, as it is sent; what cannot be meant is refused. @param {Form} form */
function checked(form) {
  const now = form.now;
  for (const key of ['greeting_message', 'away_message']) {
    if (now[key].enabled && !now[key].text.trim()) {
      throw refusal(`${key}.text`, 'Enter the message, or switch it off.');
    }
  }
  const fields = now.prechat.fields.map((one) => cleaned(one));
  if (now.prechat.enabled && !fields.length) {
    throw refusal('prechat.fields', 'Add a question, or switch the form off.');
  }
  if (new Set(fields.map(({ key }) => key)).size < fields.length) {
    throw refusal('prechat.fields', 'Two questions are the same. Change one of them.');
  }
  const changed = { ...only(now), prechat: { ...now.prechat, fields } };
  const touched = KEYS.filter((key) => form.changes.some((path) => path.startsWith(`${key}.`)));
  return Object.fromEntries(touched.map((key) => [key, changed[key]]));
}

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
  const shown = [];
  const follow = () => { for (const [path, part] of shown) part.hidden = !form.get(path); };
  const when = (path, ...parts) => {
    const part = el('div.settings-part', {}, ...parts);
    shown.push([path, part]);
    return part;
  };
  form.heard(() => { follow(); context.changed(); });
  const { bar, submit } = saveBar(form, { save });
  const body = [
    toggle(form, 'greeting_message.enabled', {
      label: 'Reply to the first message',
      hint: 'Sent by the bot as soon as a visitor writes',
    }),
    when('greeting_message.enabled', text(form, 'greeting_message.text', {
      label: 'Message', area: true, max: 2000,
      placeholder: 'Thank you for your message. We will reply in a few minutes.' })),
    toggle(form, 'away_message.enabled', {
      label: 'Away message',
      hint: 'Sent outside business hours, and while no operator is available',
    }),
    when('away_message.enabled', text(form, 'away_message.text', {
      label: 'Message', area: true, max: 2000,
      placeholder: 'We are back at 9:00. Leave your email and we will reply there.' })),
    el('hr'),
    toggle(form, 'prechat.enabled', {
      label: 'Pre-chat form',
      hint: 'Each question puts some visitors off. Ask only what you need.',
    }),
    when('prechat.enabled', questions(form)),
    el('hr'),
    toggle(form, 'offline.enabled', {
      label: 'Offline form',
      hint: 'Shown outside business hours. What visitors leave becomes a waiting conversation.',
    }),
    when('offline.enabled', text(form, 'offline.text', { label: 'Text above the form', area: true, rows: 2,
      max: 1000, placeholder: 'We are closed. Leave a message and we will reply by email.' })),
    el('hr'),
    toggle(form, 'rating.enabled', {
      label: 'Ask for a rating',
      hint: 'From 1 to 5, when a conversation is closed',
    }),
    when('rating.enabled', text(form, 'rating.question', {
      label: 'Question', hint: 'Leave empty for the standard question in the visitor’s language.', max: 200,
      empty: null })),
  ];
  follow();
  return {
    root: pane({
      title: 'Messages and forms',
      lead: 'Automatic messages, and forms that visitors fill in.',
      submit,
      bar,
      body,
    }),
    unsaved: () => form.changes.length,
  };
}

function questions(form) {
  const { locked } = form;
  return list(form, 'prechat.fields', {
    label: 'Questions',
    hint: 'The answers are saved with the visitor.',
    add: 'Add a question',
    row: 'Question',
    max: 8,
    blank: () => {
      const used = (form.get('prechat.fields') ?? []).map(({ key }) => key);
      const key = Object.keys(KNOWN).find((name) => !used.includes(name));
      return { key: key ?? '', label: KNOWN[key] ?? '', type: key === 'email' ? 'email' : 'text',
        required: false };
    },
    draw: (item, change) => [
      cell('Question', item.label, (label) => change({ label }), { locked, maxlength: 100 }),
      pick('Answer type', item.type, TYPES, (type) => change({ type, redraw: true }), { locked }),
      item.type === 'select' && cell('Choices, separated by commas', (item.options ?? []).join(', '),
        (value) => change({ options: value.split(',').map((one) => one.trim()).filter(Boolean) }),
        { locked, maxlength: 500 }),
      must(item, change, locked),
    ].filter(Boolean),
  });
}

function must(item, change, locked) {
  const control = el('input', {
    type: 'checkbox',
    disabled: !!locked,
    change: () => change({ required: control.checked }),
  });
  control.checked = item.required;
  return el('label.check-cell', {}, control, el('span', {}, 'Required'));
}

function cleaned({ key, label, type, required, options }) {
  if (!label.trim()) throw refusal('prechat.fields', 'Enter the question.');
  if (type === 'select' && (options ?? []).length < 2) {
    throw refusal('prechat.fields', `“${label}” needs at least two choices.`);
  }
  return { key: key || slug(label), label: label.trim(), type, required: !!required,
    ...(type === 'select' && { options }) };
}
