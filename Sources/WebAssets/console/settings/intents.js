// Intents: what a visitor may write, and the replies that answer while no operator has the
// conversation. They are tried in the order of this list; the first one that fits answers.

import { el, icon } from '../../shared/dom.js';
import { part, sentence } from '../shell/rest.js';
import { collection, every } from './collection.js';
import { choice, text, toggle } from './fields.js';
import { refusal, uid } from './form.js';
import { gist } from './replies.js';
import { cell, list, pick } from './rows.js';
import { isAdmin } from './pane.js';

const KINDS = [['contains', 'Contains'], ['exact', 'Is exactly'], ['starts_with', 'Starts with'], ['regex', 'Pattern']];
const SAYS = { contains: 'contains', exact: 'is exactly', starts_with: 'starts with', regex: 'matches the pattern' };

/** As the gateway compares: capital letters and spaces at the ends do not count. */
const folded = (words) => words.normalize('NFKC').trim().toLowerCase();

/** Whether an intent answers these words. A pattern that is none fits nothing. */
export function fits({ keyword, match_kind: kind }, words) {
  const [one, other] = [folded(words), folded(keyword)];
  if (!other) return false;
  if (kind === 'exact') return one === other;
  if (kind === 'starts_with') return one.startsWith(other);
  if (kind === 'contains') return one.includes(other);
  try { return new RegExp(keyword, 'iu').test(words); } catch { return false; }
}

/** The gateway's patterns are PostgreSQL's, and a browser knows most of them. */
function readable(pattern) {
  try { return !!new RegExp(pattern, 'iu'); } catch { return false; }
}

/** An intent as it is sent; what cannot be meant is refused. */
function checked({ keyword, match_kind: kind, replies, position, is_enabled: isEnabled }, name) {
  if (!name) throw refusal('name', 'Enter a name.');
  if (/[/\\]/.test(name)) throw refusal('name', 'Use a name without slashes.');
  if (!keyword.trim()) throw refusal('keyword', 'Enter the words to match.');
  const clean = replies.filter((reply) => reply.object || reply.text?.trim());
  if (!clean.length) throw refusal('replies', 'Add a reply, or choose a canned reply.');
  return { name, keyword: keyword.trim(), match_kind: kind, replies: clean, position,
    is_enabled: isEnabled };
}

/** One answer: a text, or a canned reply. */
function answer(form, objects, reply, change) {
  const kinds = [['text', 'Text'], ['object', 'Canned reply']];
  const kind = 'object' in reply ? 'object' : 'text';
  const other = pick('Reply with', kind, kinds, (wanted) => change({
    text: wanted === 'text' ? '' : undefined,
    object: wanted === 'object' ? objects[0]?.object_id ?? '' : undefined,
    redraw: true,
  }), { locked: form.locked });
  if (kind === 'text') {
    return [other, cell('Text', reply.text, (words) => change({ text: words }), {
      locked: form.locked, area: true, maxlength: 4000 })];
  }
  const names = objects.map((object) => [object.object_id,
    `${object.shortcut ? `/${object.shortcut}` : object.object_id}: ${gist(object).slice(0, 60)}`]);
  if (!objects.some(({ object_id: id }) => id === reply.object)) {
    names.unshift([reply.object, reply.object ? `${reply.object} (deleted)` : 'Choose one']);
  }
  return [other, pick('Canned reply', reply.object, names, (object) => change({ object }), {
    locked: form.locked })];
}

const fields = (form, isNew, objects) => [
  isNew
    ? text(form, 'name', { label: 'Name', hint: 'Only your team sees it. It cannot be changed later.', max: 100 })
    : null,
  choice(form, 'match_kind', { label: 'The visitor’s message', options: KINDS }),
  text(form, 'keyword', {
    label: 'Words to match',
    hint: 'Upper and lower case are the same. A pattern is a regular expression.',
    max: 500,
  }),
  list(form, 'replies', {
    label: 'Replies',
    hint: 'All of them are sent, in this order.',
    add: 'Add a reply',
    row: 'Reply',
    max: 5,
    blank: () => ({ text: '' }),
    draw: (reply, change) => answer(form, objects(), reply, change),
  }),
  toggle(form, 'is_enabled', { label: 'Active', hint: 'Off: the rule is kept, but never replies' }),
].filter(Boolean);

/** Order acts at once: what moves and what it moves past change places. */
function order(context, all, item, moved) {
  const at = all.indexOf(item);
  const move = (by) => async () => {
    const next = [...all];
    next.splice(at + by, 0, ...next.splice(at, 1));
    try {
      const changed = next.map((one, position) => [one, position]).filter(
        ([one, position]) => one.position !== position,
      );
      for (const [one, position] of changed) {
        await context.rest.put(`intents/${part(one.name)}`, { ...one, position });
      }
      await moved();
    } catch (error) {
      await moved(error);
    }
  };
  const tool = (look, words, by, disabled) => el('button.icon-button', {
    type: 'button',
    'aria-label': `${words} ${item.name}`,
    title: words,
    disabled,
    click: move(by),
  }, icon(look));
  return el('span.row-tools', {}, tool('up', 'Move up', -1, at === 0),
    tool('lower', 'Move down', 1, at === all.length - 1));
}

/** What would answer these words, in words. */
function judged(words, all, objects) {
  if (!words.trim()) {
    return [el('p.hint', {},
      'Tests your saved rules in this browser. Nothing is sent.')];
  }
  const found = all.find((item) => item.is_enabled && fits(item, words));
  const off = all.find((item) => !item.is_enabled && fits(item, words));
  if (!found) {
    const foreign = all.filter((item) => item.match_kind === 'regex' && !readable(item.keyword));
    return [el('p', {}, [
      'No rule matches. The message waits for an operator.',
      off && `“${off.name}” would match, but it is off.`,
      foreign.length && `The pattern of “${foreign[0].name}” cannot be tested in a browser.`,
    ].filter(Boolean).join(' '))];
  }
  const lines = found.replies.map((reply) => {
    const object = objects.find(({ object_id: id }) => id === reply.object);
    return el('p.bubble', { dir: 'auto' }, reply.text ?? (object ? gist(object) : reply.object));
  });
  return [el('p', {}, el('b', {}, found.name),
    ` replies: the message ${SAYS[found.match_kind]} “${found.keyword}”.`), ...lines];
}

export async function open(context) {
  const mayWrite = isAdmin(context);
  let objects = await every(context.rest, 'reply-objects', 'reply_objects').catch(() => []);
  const attempt = el('input.input', {
    id: uid(),
    dir: 'auto',
    autocomplete: 'off',
    placeholder: 'What a visitor might write',
    input: () => verdict(),
  });
  const told = el('div.verdict-line', { role: 'status' });
  const verdict = () => told.replaceChildren(...judged(attempt.value, all, objects));
  const attempts = el('div.try', {}, el('label.label', { for: attempt.id }, 'Try it'), attempt, told);
  let all = [];

  const page = await collection(context, {
    name: 'intents',
    title: 'Auto-reply rules',
    lead: 'Automatic replies while no operator is assigned. The first matching rule answers.',
    noun: 'rule',
    look: 'chat',
    empty: ['No rules yet', 'Start with a question you answer often, such as “Where is my order?”.'],
    load: async () => (all = (await every(context.rest, 'intents', 'intents')).sort(
      (one, other) => one.position - other.position || one.name.localeCompare(other.name),
    )),
    opened: () => verdict(),
    key: ({ name }) => name,
    heading: ({ name }) => name,
    blank: () => ({ name: '', keyword: '', match_kind: 'contains', replies: [{ text: '' }],
      position: all.length, is_enabled: true }),
    row: (item) => ({
      lead: el('span.order.num', {}, String(all.indexOf(item) + 1)),
      title: item.name,
      meta: `${SAYS[item.match_kind]} “${item.keyword}”`,
      text: item.keyword,
      side: item.is_enabled ? null : el('span.meta', {}, 'Off'),
      tools: mayWrite && all.length > 1 && order(context, all, item, moved),
    }),
    below: () => [attempts],
    fields: (form, item, isNew) => fields(form, isNew, () => objects),
    async save(form, item, isNew) {
      const body = checked(form.now, isNew ? form.now.name.trim() : item.name);
      const got = isNew ? await context.rest.post('intents', body)
        : await context.rest.put(`intents/${part(body.name)}`, body);
      return got?.intent ?? body;
    },
    after: () => verdict(),
    remove: ({ name }) => context.rest.remove(`intents/${part(name)}`),
    removal: ['Delete', ({ name }) => `Delete “${name}”?`],
  });

  /** The order has changed, or could not be. @param {any=} error */
  async function moved(error) {
    await page.reload();
    if (error) told.replaceChildren(icon('alert', 'small'), sentence(error));
    else verdict();
  }

  const { show } = page;
  page.show = (item) => {
    every(context.rest, 'reply-objects', 'reply_objects').then((now) => { objects = now; }, () => {});
    show(item);
  };
  return page;
}
