// Canned replies: what an operator gets by typing / and a shortcut, and what intents answer with.
// A text has fields that are filled in when it is used; the other kinds are for the widget.

import { el } from '../../shared/dom.js';
import { part } from '../shell/rest.js';
import { collection, every } from './collection.js';
import { select, text } from './fields.js';
import { refusal, taken } from './form.js';
import { cell, list, pick } from './rows.js';
import { isAdmin } from './pane.js';

const KINDS = [['text', 'Text'], ['buttons', 'Buttons'], ['card', 'Card'], ['carousel', 'Carousel']];
const FIELDS = [['{{visitor.name}}', 'Visitor’s name'], ['{{operator.name}}', 'Your name']];
const EXAMPLES = { '{{visitor.name}}': 'Noor', '{{operator.name}}': 'Mika' };
const SHORTCUT = /^[^\s/]{1,32}$/;

/**
 * What a reply says in one line, whatever its kind.
 * @param {{object_type: string, payload: any, alt_text?: string?}} reply
 */
export function gist({ object_type: kind, payload, alt_text: alt }) {
  const { text: words, title, cards, buttons } = payload ?? {};
  const labels = (buttons ?? []).map(({ label }) => label).join(' · ');
  if (kind === 'carousel') return (cards ?? []).map((card) => card.title).join(' · ') || alt || '';
  return [title, words, labels && `[${labels}]`].filter(Boolean).join(' ') || alt || '';
}

const kindOf = (key) => KINDS.find(([kind]) => kind === key)?.[1] ?? key;

export function open(context) {
  return collection(context, {
    name: 'replies',
    title: 'Canned replies',
    lead: 'Type / and a shortcut in an empty reply to insert one. Auto-reply rules can send them, too.',
    noun: 'reply',
    look: 'bolt',
    empty: ['No canned replies yet', 'Save what you answer every day, and insert it with a shortcut.'],
    mayWrite: true,
    load: () => every(context.rest, 'reply-objects', 'reply_objects'),
    key: ({ object_id: id }) => id,
    blank: () => ({
      object_id: '',
      object_type: 'text',
      payload: { text: '' },
      alt_text: null,
      shortcut: '',
    }),
    values: (item) => ({ ...item, shortcut: item.shortcut ?? '', payload: item.payload ?? {} }),
    heading: ({ shortcut, object_id: id }) => shortcut ? `/${shortcut}` : id,
    row: (item) => ({
      title: item.shortcut ? el('code', {}, `/${item.shortcut}`) : item.object_id,
      meta: gist(item),
      text: `${item.shortcut ?? ''} ${gist(item)}`,
      side: item.object_type !== 'text' && el('span.meta', {}, kindOf(item.object_type)),
    }),
    fields: (form, item, isNew) => draw(form, isNew),
    async save(form, item, isNew) {
      const { object_type: kind, payload, alt_text: alt } = form.now;
      const shortcut = form.now.shortcut.trim().replace(/^\//, '');
      const id = isNew ? (form.now.object_id || shortcut).trim() : item.object_id;
      if (shortcut && !SHORTCUT.test(shortcut)) {
        throw refusal('shortcut', 'Use one word of at most 32 characters, without a slash.');
      }
      if (!id) throw refusal('shortcut', 'Enter a shortcut or a name.');
      const clean = checked(kind, payload);
      // a name that is in use means that reply: writing it would replace a colleague's words
      const answer = await context.rest.put(`reply-objects/${part(id)}`, {
        object_type: kind,
        payload: clean,
        alt_text: alt || gist({ object_type: kind, payload: clean }) || null,
        shortcut: shortcut || null,
      }, isNew).catch(taken(form.now.object_id ? 'object_id' : 'shortcut',
        'Another reply already uses this. Choose a different one, or edit that reply.'));
      return answer?.reply_object ?? { ...form.now, object_id: id, payload: clean, shortcut };
    },
    remove: isAdmin(context)
      ? ({ object_id: id }) => context.rest.remove(`reply-objects/${part(id)}`) : undefined,
    removal: ['Delete', ({ shortcut, object_id: id }) => `Delete ${shortcut ? `/${shortcut}` : id}?`],
  });
}

function draw(form, isNew) {
  const inner = el('div.settings-part');
  const peek = el('div.reply-peek');
  let kind = '';
  const follow = () => {
    const now = form.get('object_type');
    if (now !== kind) {
      kind = now;
      inner.replaceChildren(...payload(form, now));
    }
    const words = filled(form.get('payload.text') ?? '');
    peek.hidden = now !== 'text' || !words.length;
    peek.replaceChildren(el('p.meta', {}, 'Preview: sent by Mika to Noor'),
      el('p.bubble', { dir: 'auto' }, ...words));
  };
  form.heard(follow);
  const fields = [
    text(form, 'shortcut', {
      label: 'Shortcut',
      hint: 'Operators type / and this word. Without one, only auto-reply rules can use the reply.',
      max: 33,
      code: true,
    }),
    isNew && text(form, 'object_id', {
      label: 'Name',
      hint: 'For auto-reply rules. Leave empty to use the shortcut. It cannot be changed later.',
      max: 50,
    }),
    select(form, 'object_type', {
      label: 'Type',
      options: KINDS,
      hint: 'Auto-reply rules send buttons and cards; operators send text.',
    }),
    inner,
    peek,
  ];
  follow();
  return fields.filter(Boolean);
}

/** The text with its fields filled in and marked. */
function filled(words) {
  return words.split(/(\{\{[a-z.]+\}\})/).filter(Boolean).map((piece) => EXAMPLES[piece]
    ? el('span.fill', {}, EXAMPLES[piece]) : piece);
}

const quickReplies = (form) => list(form, 'payload.quick_replies', {
  label: 'Quick replies',
  hint: 'Replies that visitors can tap, when a rule sends this.',
  add: 'Add a quick reply',
  row: 'Quick reply',
  max: 12,
  blank: () => ({ label: '', value: '' }),
  draw: (item, change) => [
    cell('Label', item.label, (label) => change({
      label,
      ...(item.value === item.label && { value: label }),
    }), { locked: form.locked, maxlength: 80 }),
  ],
});

function payload(form, kind) {
  const words = (label, more = {}) => text(form, 'payload.text', { label, area: true, rows: 4,
    max: 4000, ...more });
  if (kind === 'text') {
    const field = words('Text');
    const area = /** @type {HTMLTextAreaElement} */ (field.querySelector('textarea'));
    const put = (piece) => () => {
      area.setRangeText(piece, area.selectionStart, area.selectionEnd, 'end');
      area.dispatchEvent(new Event('input'));
      area.focus();
    };
    field.querySelector('.label-line').append(el('span.grow'), ...FIELDS.map(([piece, label]) => el(
      'button.chip-button',
      { type: 'button', title: piece, disabled: !!form.locked, click: put(piece) },
      label,
    )));
    return [field, quickReplies(form)];
  }
  if (kind === 'buttons') {
    return [words('Text', { rows: 3 }), buttons(form, 'payload.buttons')];
  }
  if (kind === 'card') {
    return [
      text(form, 'payload.title', { label: 'Title', max: 200 }),
      words('Text', { rows: 3 }),
      text(form, 'payload.image_url', {
        label: 'Image',
        hint: 'The URL of an image, starting with https://.',
        type: 'url',
        code: true,
        max: 2048,
      }),
      buttons(form, 'payload.buttons'),
    ];
  }
  return [list(form, 'payload.cards', {
    label: 'Cards',
    add: 'Add a card',
    row: 'Card',
    max: 10,
    blank: () => ({ title: '', text: '', buttons: [] }),
    draw: (item, change) => [
      cell('Title', item.title, (title) => change({ title }), { locked: form.locked, maxlength: 200 }),
      cell('Text', item.text, (words) => change({ text: words }), { locked: form.locked, area: true,
        maxlength: 1000 }),
      cell('Image URL', item.image_url, (url) => change({ image_url: url }), {
        locked: form.locked, type: 'url', maxlength: 2048 }),
      cell('Button label', item.buttons?.[0]?.label, (label) => change({
        buttons: label ? [{ type: 'reply', value: label, ...item.buttons?.[0], label }] : [],
      }), { locked: form.locked, maxlength: 80 }),
      cell('URL to open (empty: sends the label)', item.buttons?.[0]?.type === 'url'
        ? item.buttons[0].value : '', (value) => change({
        buttons: [{ label: item.buttons?.[0]?.label ?? '', type: value ? 'url' : 'reply',
          value: value || item.buttons?.[0]?.label || '' }],
      }), { locked: form.locked, type: 'url', maxlength: 2048 }),
    ],
  })];
}

function buttons(form, path) {
  return list(form, path, {
    label: 'Buttons',
    add: 'Add a button',
    row: 'Button',
    max: 6,
    blank: () => ({ label: '', type: 'reply', value: '' }),
    draw: (item, change) => [
      cell('Label', item.label, (label) => change({ label }), { locked: form.locked, maxlength: 80 }),
      pick('Action', item.type, [['reply', 'Sends a reply'], ['url', 'Opens a page']], (type) => change({
        type, redraw: true }), { locked: form.locked }),
      cell(item.type === 'url' ? 'URL' : 'Text to send (empty: the label)', item.value,
        (value) => change({ value }), { locked: form.locked, maxlength: 2048,
          ...(item.type === 'url' && { type: 'url', placeholder: 'https://' }) }),
    ],
  });
}

/** What the gateway wants of each kind; what is left over of another kind goes. */
function checked(kind, given) {
  const { text: words = '', quick_replies: quick, buttons: given_, title = '', cards = [],
    image_url: image } = given;
  const press = (all = []) => all.filter(({ label }) => label.trim()).map((button) => {
    if (button.type === 'url' && !/^https?:\/\//.test(button.value ?? '')) {
      throw refusal('payload.buttons', `“${button.label}” needs a URL. Start with https://.`);
    }
    return { label: button.label.trim(), type: button.type, value: button.value || button.label };
  });
  const picture = (url) => url ? { image_url: url } : {};
  if (kind === 'card') {
    if (!title.trim()) throw refusal('payload.title', 'Enter a title for the card.');
    return { title: title.trim(), ...(words && { text: words }), ...picture(image),
      buttons: press(given_) };
  }
  if (kind === 'carousel') {
    if (!cards.length) throw refusal('payload.cards', 'Add at least one card.');
    return { cards: cards.map((card) => {
      if (!card.title?.trim()) throw refusal('payload.cards', 'Enter a title for every card.');
      return { title: card.title.trim(), ...(card.text && { text: card.text }),
        ...picture(card.image_url), buttons: press(card.buttons) };
    }) };
  }
  if (!words.trim()) throw refusal('payload.text', 'Enter the text.');
  if (kind === 'buttons') {
    const all = press(given_);
    if (!all.length) throw refusal('payload.buttons', 'Add at least one button.');
    return { text: words, buttons: all };
  }
  const taps = (quick ?? []).filter(({ label }) => label.trim());
  return { text: words, ...(taps.length && { quick_replies: taps.map(({ label, value }) => ({
    label: label.trim(), value: value || label.trim() })) }) };
}
