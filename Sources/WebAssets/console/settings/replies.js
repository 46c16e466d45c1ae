// Canned replies: operators insert them by typing / and a shortcut, and intents answer with them. A
// text may have fields that are filled when it is used; the other kinds are for intents only.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { part } from '../shell/rest.js';
import { collection, every } from './collection.js';
import { select, text } from './fields.js';
import { refusal, taken } from './form.js';
import { cell, list, pick } from './rows.js';
import { isAdmin } from './pane.js';

/** @typedef {import('../../shared/dom.js').Child} Child */
/** @typedef {ReplyObject & {shortcut: string}} Values */
/** @typedef {import('./form.js').Form<Values>} ReplyForm */

/** @type {[value: string, words: string][]} */
const KINDS = [
  ['text', t('Text')], ['buttons', t('Buttons')], ['card', t('Card')], ['carousel', t('Carousel')],
];
const FIELDS = [['{{visitor.name}}', t('Visitor’s name')], ['{{operator.name}}', t('Your name')]];
/** @type {Record<string, string>} */
const EXAMPLES = { '{{visitor.name}}': 'Noor', '{{operator.name}}': 'Mika' };
const SHORTCUT = /^[^\s/]{1,32}$/;
const TEXT_MAX = 4000; // characters

/**
 * The content of a reply in one line.
 * @param {Pick<ReplyObject, 'object_type' | 'payload' | 'alt_text'>} reply
 */
export function gist({ object_type: kind, payload, alt_text: alt }) {
  const { text: words, title, cards, buttons } = payload ?? {};
  const labels = (buttons ?? []).map(({ label }) => label).join(' · ');
  if (kind === 'carousel') return (cards ?? []).map((card) => card.title).join(' · ') || alt || '';
  return [title, words, labels && `[${labels}]`].filter(Boolean).join(' ') || alt || '';
}

/** @param {string} key */
const kindOf = (key) => KINDS.find(([kind]) => kind === key)?.[1] ?? key;

/** @param {import('./pane.js').SettingsContext} context */
export function open(context) {
  return collection(context, {
    name: 'replies',
    title: t('Canned replies'),
    lead: t('Type / and a shortcut in an empty reply to insert one. Auto-reply rules can send them, too.'),
    one: t('Canned reply'),
    make: t('New reply'),
    look: 'bolt',
    empty: [t('No canned replies yet'), t('Save what you answer every day, and insert it with a shortcut.')],
    mayWrite: true,
    load: () => every((query) => context.rest.get('reply-objects', query), 'reply_objects'),
    key: ({ object_id: id }) => id,
    blank: () => ({
      object_id: '',
      object_type: 'text',
      payload: { text: '' },
      alt_text: null,
      shortcut: '',
    }),
    /** @returns {Values} */
    values: (item) => ({ ...item, shortcut: item.shortcut ?? '', payload: item.payload ?? {} }),
    heading: ({ shortcut, object_id: id }) => shortcut ? `/${shortcut}` : id,
    row: (item) => ({
      title: item.shortcut ? el('code', {}, `/${item.shortcut}`) : item.object_id,
      meta: gist(item),
      text: `${item.shortcut ?? ''} ${gist(item)}`,
      side: item.object_type !== 'text' && el('span.meta', {}, kindOf(item.object_type)),
    }),
    fields: (form, _, isNew) => fields(form, isNew),
    async save(form, item, isNew) {
      const { object_type: kind, payload, alt_text: alt } = form.now;
      const shortcut = form.now.shortcut.trim().replace(/^\//, '');
      const id = isNew ? (form.now.object_id || shortcut).trim() : item.object_id;
      if (shortcut && !SHORTCUT.test(shortcut)) {
        throw refusal('shortcut', t('Use one word of at most 32 characters, without a slash.'));
      }
      if (!id) throw refusal('shortcut', t('Enter a shortcut or a name.'));
      const clean = checked(kind, payload);
      // a new reply must not replace one of a colleague
      const answer = await context.rest.put(`reply-objects/${part(id)}`, {
        object_type: kind,
        payload: clean,
        alt_text: alt || gist({ object_type: kind, payload: clean }) || null,
        shortcut: shortcut || null,
      }, isNew).catch(taken(form.now.object_id ? 'object_id' : 'shortcut',
        t('Another reply already uses this. Choose a different one, or edit that reply.')));
      const saved = { ...form.now, object_id: id, payload: clean, shortcut };
      return { item: answer?.reply_object ?? saved };
    },
    remove: isAdmin(context)
      ? ({ object_id: id }) => context.rest.remove(`reply-objects/${part(id)}`) : undefined,
    removal: [t('Delete'), ({ shortcut, object_id: id }) => t('Delete {}?', shortcut ? `/${shortcut}` : id)],
  });
}

/**
 * @param {ReplyForm} form
 * @param {boolean} isNew
 * @returns {Child[]}
 */
function fields(form, isNew) {
  const inner = el('div.settings-part');
  const peek = el('div.reply-peek');
  let kind = '';
  const follow = () => {
    const now = form.now.object_type;
    if (now !== kind) {
      kind = now;
      inner.replaceChildren(...payload(form, now));
    }
    const words = filled(form.now.payload.text ?? '');
    peek.hidden = now !== 'text' || !words.length;
    peek.replaceChildren(el('p.meta', {}, t('Preview: sent by Mika to Noor')),
      el('p.bubble', { dir: 'auto' }, ...words));
  };
  form.onChange(follow);
  const parts = [
    text(form, 'shortcut', {
      label: t('Shortcut'),
      hint: t('Operators type / and this word. Without one, only auto-reply rules can use the reply.'),
      max: 33,
      code: true,
    }),
    isNew && text(form, 'object_id', {
      label: t('Name'),
      hint: t('For auto-reply rules. Leave empty to use the shortcut. It cannot be changed later.'),
      max: 50,
    }),
    select(form, 'object_type', {
      label: t('Type'),
      options: KINDS,
      hint: t('Auto-reply rules send buttons and cards; operators send text.'),
    }),
    inner,
    peek,
  ];
  follow();
  return parts;
}

/**
 * The text with its fields filled and marked.
 * @param {string} words
 */
function filled(words) {
  return words.split(/(\{\{[a-z.]+\}\})/).filter(Boolean).map((piece) => EXAMPLES[piece]
    ? el('span.fill', {}, EXAMPLES[piece]) : piece);
}

/** @param {ReplyForm} form */
const quickReplies = (form) => list(form, 'payload.quick_replies', {
  label: t('Quick replies'),
  hint: t('Replies that visitors can tap, when a rule sends this.'),
  add: t('Add a quick reply'),
  row: (number) => t('Quick reply {}', number),
  max: 12,
  /** @returns {Choice} */
  blank: () => ({ label: '', value: '' }),
  draw: (item, change) => [
    cell(t('Label'), item.label, (label) => change({
      label,
      ...(item.value === item.label && { value: label }),
    }), { locked: form.locked, maxlength: 80 }),
  ],
});

/**
 * The text field of a reply, with buttons that insert its fields.
 * @param {ReplyForm} form
 */
function textField(form) {
  const field = text(form, 'payload.text', { label: t('Text'), area: true, rows: 4, max: TEXT_MAX });
  const area = field.querySelector('textarea');
  /** @param {string} piece */
  const put = (piece) => () => {
    if (!area) return;
    area.setRangeText(piece, area.selectionStart, area.selectionEnd, 'end');
    area.dispatchEvent(new Event('input'));
    area.focus();
  };
  field.querySelector('.label-line')?.append(el('span.grow'), ...FIELDS.map(([piece, label]) => el(
    'button.chip-button',
    { type: 'button', title: piece, disabled: !!form.locked, click: put(piece) },
    label,
  )));
  return field;
}

/**
 * The fields of a kind of reply.
 * @param {ReplyForm} form
 * @param {string} kind
 * @returns {HTMLElement[]}
 */
function payload(form, kind) {
  const words = () => text(form, 'payload.text', { label: t('Text'), area: true, rows: 3,
    max: TEXT_MAX });
  if (kind === 'text') return [textField(form), quickReplies(form)];
  if (kind === 'buttons') {
    return [words(), buttons(form, 'payload.buttons')];
  }
  if (kind === 'card') {
    return [
      text(form, 'payload.title', { label: t('Title'), max: 200 }),
      words(),
      text(form, 'payload.image_url', {
        label: t('Image'),
        hint: t('The URL of an image, starting with https://.'),
        type: 'url',
        code: true,
        max: 2048,
      }),
      buttons(form, 'payload.buttons'),
    ];
  }
  return [cards(form)];
}

/** @param {ReplyForm} form */
const cards = (form) => list(form, 'payload.cards', {
  label: t('Cards'),
  add: t('Add a card'),
  row: (number) => t('Card {}', number),
  max: 10,
  /** @returns {Card} */
  blank: () => ({ title: '', text: '', buttons: [] }),
  draw: (item, change) => [
    cell(t('Title'), item.title, (title) => change({ title }), { locked: form.locked, maxlength: 200 }),
    cell(t('Text'), item.text, (words) => change({ text: words }), { locked: form.locked, area: true,
      maxlength: 1000 }),
    cell(t('Image URL'), item.image_url, (url) => change({ image_url: url }), {
      locked: form.locked, type: 'url', maxlength: 2048 }),
    cell(t('Button label'), item.buttons?.[0]?.label, (label) => change({
      buttons: label ? [{ type: 'reply', value: label, ...item.buttons?.[0], label }] : [],
    }), { locked: form.locked, maxlength: 80 }),
    cell(t('URL to open (empty: sends the label)'), item.buttons?.[0]?.type === 'url'
        ? item.buttons[0].value : '', (value) => change({
        buttons: [{ label: item.buttons?.[0]?.label ?? '', type: value ? 'url' : 'reply',
          value: value || item.buttons?.[0]?.label || '' }],
      }), { locked: form.locked, type: 'url', maxlength: 2048 }),
  ],
});

/**
 * @param {ReplyForm} form
 * @param {string} path
 */
function buttons(form, path) {
  return list(form, path, {
    label: t('Buttons'),
    add: t('Add a button'),
    row: (number) => t('Button {}', number),
    max: 6,
    /** @returns {Choice} */
    blank: () => ({ label: '', type: 'reply', value: '' }),
    draw: (item, change) => [
      cell(t('Label'), item.label, (label) => change({ label }), { locked: form.locked, maxlength: 80 }),
      pick(t('Action'), item.type, [['reply', t('Sends a reply')], ['url', t('Opens a page')]],
        (type) => change({ type }, true), { locked: form.locked }),
      cell(item.type === 'url' ? 'URL' : t('Text to send (empty: the label)'), item.value,
        (value) => change({ value }), { locked: form.locked, maxlength: 2048,
          ...(item.type === 'url' && { type: 'url', placeholder: 'https://' }) }),
    ],
  });
}

/**
 * The buttons to send. Ones without a label are left out.
 * @param {Choice[]=} all
 * @returns {Choice[]}
 */
const checkedButtons = (all = []) => all.filter(({ label }) => label.trim()).map(
  ({ label, type, value }) => {
    if (type === 'url' && !/^https?:\/\//.test(value ?? '')) {
      throw refusal('payload.buttons', t('“{}” needs a URL. Start with https://.', label));
    }
    return { label: label.trim(), type, value: value || label };
  },
);

/** @param {string | undefined} url */
const picture = (url) => url ? { image_url: url } : {};

/**
 * The payload to send, without members of other kinds. One that is incomplete is refused.
 * @param {string} kind
 * @param {Payload} payload
 * @returns {Payload}
 */
function checked(kind, { text: words = '', quick_replies: quick, buttons, title = '', cards = [],
  image_url: image }) {
  if (kind === 'card') {
    if (!title.trim()) throw refusal('payload.title', t('Enter a title for the card.'));
    return { title: title.trim(), ...(words && { text: words }), ...picture(image),
      buttons: checkedButtons(buttons) };
  }
  if (kind === 'carousel') {
    if (!cards.length) throw refusal('payload.cards', t('Add at least one card.'));
    return { cards: cards.map((card) => {
      if (!card.title?.trim()) throw refusal('payload.cards', t('Enter a title for every card.'));
      return { title: card.title.trim(), ...(card.text && { text: card.text }),
        ...picture(card.image_url), buttons: checkedButtons(card.buttons) };
    }) };
  }
  if (!words.trim()) throw refusal('payload.text', t('Enter the text.'));
  if (kind === 'buttons') {
    const all = checkedButtons(buttons);
    if (!all.length) throw refusal('payload.buttons', t('Add at least one button.'));
    return { text: words, buttons: all };
  }
  const taps = (quick ?? []).filter(({ label }) => label.trim());
  return { text: words, ...(taps.length && { quick_replies: taps.map(({ label, value }) => ({
    label: label.trim(), value: value || label.trim() })) }) };
}
