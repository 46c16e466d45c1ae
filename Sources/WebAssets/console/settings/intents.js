// Intents: automatic replies to visitors' messages while no operator has the conversation. The
// first intent of the list that matches answers.

import { el, icon } from '../../shared/dom.js';
import { pieces, t } from '../shell/language.js';
import { part, sentence } from '../shell/rest.js';
import { collection, every } from './collection.js';
import { choice, text, toggle } from './fields.js';
import { refusal, uid } from './form.js';
import { gist } from './replies.js';
import { handoverTeam } from './routing.js';
import { cell, list, pick } from './rows.js';
import { isAdmin } from './pane.js';

/** @typedef {import('./pane.js').SettingsContext} SettingsContext */
/** @typedef {import('./form.js').Form<Intent>} IntentForm */

/** @type {[value: string, words: string][]} */
const KINDS = [
  ['contains', t('Contains')], ['exact', t('Is exactly')], ['starts_with', t('Starts with')],
  ['regex', t('Pattern')],
];
/** @type {Record<string, (words: string) => string>} */
const CONDITIONS = {
  contains: (words) => t('contains “{}”', words),
  exact: (words) => t('is exactly “{}”', words),
  starts_with: (words) => t('starts with “{}”', words),
  regex: (words) => t('matches the pattern “{}”', words),
};
/** @type {Record<string, (rule: Node, words: Node) => (Node | string)[]>} */
const VERDICTS = {
  contains: (rule, words) => pieces('{1} replies: the message contains “{2}”.', rule, words),
  exact: (rule, words) => pieces('{1} replies: the message is exactly “{2}”.', rule, words),
  starts_with: (rule, words) => pieces('{1} replies: the message starts with “{2}”.', rule, words),
  regex: (rule, words) => pieces('{1} replies: the message matches the pattern “{2}”.', rule, words),
};

/**
 * The form in which the gateway compares: without case, and without spaces at the ends.
 * @param {string} words
 */
const folded = (words) => words.normalize('NFKC').trim().toLowerCase();

/**
 * Whether an intent matches. An invalid pattern matches nothing.
 * @param {Intent} intent
 * @param {string} words
 */
function matches({ keyword, match_kind: kind }, words) {
  const [one, other] = [folded(words), folded(keyword)];
  if (!other) return false;
  if (kind === 'exact') return one === other;
  if (kind === 'starts_with') return one.startsWith(other);
  if (kind === 'contains') return one.includes(other);
  try { return new RegExp(keyword, 'iu').test(words); } catch { return false; }
}

/**
 * Whether the browser can compile a pattern. The gateway's are PostgreSQL's, which differ a little.
 * @param {string} pattern
 */
function isReadable(pattern) {
  try { return !!new RegExp(pattern, 'iu'); } catch { return false; }
}

/**
 * The intent to send. One that is incomplete is refused.
 * @param {Intent} intent
 * @param {string} name
 * @returns {Intent}
 */
function checked({ keyword, match_kind: kind, replies, position, is_enabled: isEnabled }, name) {
  if (!name) throw refusal('name', t('Enter a name.'));
  if (/[/\\]/.test(name)) throw refusal('name', t('Use a name without slashes.'));
  if (!keyword.trim()) throw refusal('keyword', t('Enter the words to match.'));
  const clean = replies.filter((reply) => (
    reply.object || reply.handover || reply.text?.trim()
  )).map((reply) => (reply.handover ? { handover: true, team: reply.team || undefined } : reply));
  if (!clean.length) throw refusal('replies', t('Add a reply, or choose a canned reply.'));
  return { name, keyword: keyword.trim(), match_kind: kind, replies: clean, position,
    is_enabled: isEnabled };
}

/** @type {[value: string, words: string][]} */
const ANSWERS = [['text', t('Text')], ['object', t('Canned reply')], ['handover', t('Handover to operators')]];

/**
 * The fields of one answer: a text, a canned reply, or a handover to operators.
 * @param {IntentForm} form
 * @param {ReplyObject[]} objects
 * @param {Team[]} teams
 * @param {IntentReply} reply
 * @param {(change: IntentReply, redraw?: boolean) => void} change
 */
function answer(form, objects, teams, reply, change) {
  const kind = reply.handover ? 'handover' : 'object' in reply ? 'object' : 'text';
  const other = pick(t('Reply with'), kind, ANSWERS, (wanted) => change({
    text: wanted === 'text' ? '' : undefined,
    object: wanted === 'object' ? objects[0]?.object_id ?? '' : undefined,
    handover: wanted === 'handover' || undefined,
  }, true), { locked: form.locked });
  if (kind === 'handover') {
    return [other, handoverTeam(teams, reply.team ?? '', (team) => change({ team }), form.locked)];
  }
  if (kind === 'text') {
    return [other, cell(t('Text'), reply.text, (words) => change({ text: words }), {
      locked: form.locked, area: true, maxlength: 4000 })];
  }
  /** @type {[value: string, words: string][]} */
  const names = objects.map((object) => [object.object_id,
    `${object.shortcut ? `/${object.shortcut}` : object.object_id}: ${gist(object).slice(0, 60)}`]);
  if (!objects.some(({ object_id: id }) => id === reply.object)) {
    names.unshift([reply.object ?? '', reply.object ? t('{} (deleted)', reply.object) : t('Choose one')]);
  }
  return [other, pick(t('Canned reply'), reply.object, names, (object) => change({ object }), {
    locked: form.locked })];
}

/**
 * @param {IntentForm} form
 * @param {boolean} isNew
 * @param {() => ReplyObject[]} objects
 * @param {Team[]} teams
 * @returns {(HTMLElement | null)[]}
 */
const fields = (form, isNew, objects, teams) => [
  isNew
    ? text(form, 'name', { label: t('Name'), hint: t('Only your team sees it. It cannot be changed later.'), max: 100 })
    : null,
  choice(form, 'match_kind', { label: t('The visitor’s message'), options: KINDS }),
  text(form, 'keyword', {
    label: t('Words to match'),
    hint: t('Upper and lower case are the same. A pattern is a regular expression.'),
    max: 500,
  }),
  list(form, 'replies', {
    label: t('Replies'),
    hint: t('All of them are sent, in this order.'),
    add: t('Add a reply'),
    row: (number) => t('Reply {}', number),
    max: 5,
    blank: () => /** @type {IntentReply} */ ({ text: '' }),
    draw: (reply, change) => answer(form, objects(), teams, reply, change),
  }),
  toggle(form, 'is_enabled', { label: t('Active'), hint: t('Off: the rule is kept, but never replies') }),
];

/**
 * The buttons that move an intent, which is saved at once.
 * @param {SettingsContext} context
 * @param {Intent[]} all
 * @param {Intent} item
 * @param {(error?: unknown) => Promise<void>} moved
 */
function order(context, all, item, moved) {
  const at = all.indexOf(item);
  /** @param {number} by */
  const move = (by) => async () => {
    const next = [...all];
    next.splice(at + by, 0, ...next.splice(at, 1));
    try {
      for (const [position, one] of next.entries()) {
        if (one.position === position) continue;
        await context.rest.put(`intents/${part(one.name)}`, { ...one, position });
      }
      await moved();
    } catch (error) {
      await moved(error);
    }
  };
  /** @type {(look: string, words: string, by: number, disabled: boolean) => HTMLElement} */
  const tool = (look, words, by, disabled) => el('button.icon-button', {
    type: 'button',
    'aria-label': words,
    title: words,
    disabled,
    click: move(by),
  }, icon(look));
  return el('span.row-tools', {}, tool('up', t('Move {} up', item.name), -1, at === 0),
    tool('lower', t('Move {} down', item.name), 1, at === all.length - 1));
}

/** A field for a message, and the answer that the message would get. */
class Trial {
  /** @type {HTMLInputElement} */
  #field;
  #result = el('div.verdict-line', { role: 'status' });
  #intents;
  #replies;

  /**
   * @param {() => Intent[]} intents
   * @param {() => ReplyObject[]} replies
   */
  constructor(intents, replies) {
    this.#intents = intents;
    this.#replies = replies;
    this.#field = el('input.input', {
      id: uid(),
      dir: 'auto',
      autocomplete: 'off',
      placeholder: t('What a visitor might write'),
      input: () => { this.run(); },
    });
    const label = el('label.label', { for: this.#field.id }, t('Try it'));
    this.root = el('div.try', {}, label, this.#field, this.#result);
  }

  run() { this.show(...outcome(this.#field.value, this.#intents(), this.#replies())); }

  /** @param {(Node | string)[]} parts */
  show(...parts) { this.#result.replaceChildren(...parts); }
}

/**
 * The answer that a message would get.
 * @param {string} words of the message
 * @param {Intent[]} all
 * @param {ReplyObject[]} objects
 */
function outcome(words, all, objects) {
  if (!words.trim()) {
    return [el('p.hint', {},
      t('Tests your saved rules in this browser. Nothing is sent.'))];
  }
  const found = all.find((item) => item.is_enabled && matches(item, words));
  const off = all.find((item) => !item.is_enabled && matches(item, words));
  if (!found) {
    const foreign = all.filter((item) => item.match_kind === 'regex' && !isReadable(item.keyword));
    return [el('p', {}, [
      t('No rule matches. The message waits for an operator.'),
      off && t('“{}” would match, but it is off.', off.name),
      foreign[0] && t('The pattern of “{}” cannot be tested in a browser.', foreign[0].name),
    ].filter(Boolean).join(' '))];
  }
  const lines = found.replies.map((reply) => {
    const object = objects.find(({ object_id: id }) => id === reply.object);
    return reply.handover ? el('p', {}, t('Then the conversation waits for an operator.'))
      : el('p.bubble', { dir: 'auto' }, reply.text ?? (object ? gist(object) : reply.object));
  });
  return [el('p', {}, ...VERDICTS[found.match_kind](el('b', {}, found.name),
    el('bdi', {}, found.keyword))), ...lines];
}

/** @param {SettingsContext} context */
export async function open(context) {
  const { rest } = context;
  const mayWrite = isAdmin(context);
  const loadReplies = () => every((query) => rest.get('reply-objects', query), 'reply_objects');
  /** @type {Intent[]} */
  let all = [];
  /** @type {ReplyObject[]} */
  let objects = await loadReplies().catch(() => []);
  /** @type {Team[]} */
  const teams = await every((query) => rest.get('teams', query), 'teams').catch(() => []);
  const trial = new Trial(() => all, () => objects);

  const page = await collection(context, {
    name: 'intents',
    title: t('Auto-reply rules'),
    lead: t('Automatic replies while no operator is assigned. The first matching rule answers.'),
    one: t('Rule'),
    make: t('New rule'),
    look: 'chat',
    empty: [t('No rules yet'), t('Start with a question you answer often, such as “Where is my order?”.')],
    load: async () => {
      const loaded = await every((query) => rest.get('intents', query), 'intents');
      all = loaded.sort(
        (one, other) => one.position - other.position || one.name.localeCompare(other.name),
      );
      return all;
    },
    opened: () => trial.run(),
    key: ({ name }) => name,
    heading: ({ name }) => name,
    blank: () => ({ name: '', keyword: '', match_kind: 'contains', replies: [{ text: '' }],
      position: all.length, is_enabled: true }),
    values: (item) => item,
    row: (item) => ({
      lead: el('span.order.num', {}, String(all.indexOf(item) + 1)),
      title: item.name,
      meta: CONDITIONS[item.match_kind](item.keyword),
      text: item.keyword,
      side: item.is_enabled ? null : el('span.meta', {}, t('Off')),
      tools: mayWrite && all.length > 1 && order(context, all, item, moved),
    }),
    below: () => [trial.root],
    fields: (form, item, isNew) => fields(form, isNew, () => objects, teams),
    async save(form, item, isNew) {
      const body = checked(form.now, isNew ? form.now.name.trim() : item.name);
      const saved = isNew ? await rest.post('intents', body)
        : await rest.put(`intents/${part(body.name)}`, body);
      return { item: saved?.intent ?? body };
    },
    after: () => trial.run(),
    remove: ({ name }) => rest.remove(`intents/${part(name)}`),
    removal: [t('Delete'), ({ name }) => t('Delete “{}”?', name)],
  });

  /**
   * The order was changed, or the request has failed.
   * @param {unknown=} error
   */
  async function moved(error) {
    await page.reload();
    if (error) trial.show(icon('alert', 'small'), sentence(error)); else trial.run();
  }

  const { show } = page;
  page.show = (item) => {
    loadReplies().then((now) => { objects = now; }, () => {});
    show(item);
  };
  return page;
}
