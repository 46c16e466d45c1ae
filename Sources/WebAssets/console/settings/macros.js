// Macros: several actions in one, which operators run in a conversation or on many.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { gist } from '../thread/macros.js';
import { collection, every } from './collection.js';
import { text, toggle } from './fields.js';
import { refusal } from './form.js';
import { cell, list, pick } from './rows.js';

/** @typedef {{name: string, is_shared: boolean, actions: Draft[]}} Values */
/**
 * An action as the form edits it: `value` is its text, its tags with commas, its receiver or its
 * reason.
 * @typedef {{type: string, value: string}} Draft
 */

const ACTIONS_MAX = 10;
const TEAM = 'team:'; // before the id of a team among the receivers
/** @type {[value: string, words: string][]} */
const TYPES = [
  ['reply', t('Send a reply')], ['object', t('Send a canned reply')], ['note', t('Add a note')],
  ['add_tags', t('Add tags')], ['remove_tags', t('Remove tags')], ['assign', t('Assign')],
  ['close', t('Close|conversation')], ['reopen', t('Reopen')],
];

/** @type {(action: Action) => Draft} */
const draft = ({ type, text: words, object, tags, to, to_team: team, reason }) => ({
  type: object ? 'object' : type,
  value: words ?? object ?? tags?.join(', ') ?? to ?? (team ? TEAM + team : reason) ?? '',
});

/**
 * @param {Draft} draft
 * @returns {Action}
 */
function action({ type, value }) {
  const words = value.trim();
  switch (type) {
    case 'reply': case 'note': return { type, text: words };
    case 'object': return { type: 'reply', object: words };
    case 'assign':
      return words.startsWith(TEAM) ? { type, to_team: words.slice(TEAM.length) }
        : { type, to: words || 'me' };
    case 'close': return words ? { type, reason: words } : { type };
    case 'reopen': return { type };
    default:
      return { type, tags: words.split(',').map((tag) => tag.trim()).filter(Boolean) };
  }
}

/** @param {import('./pane.js').SettingsContext} context */
export async function open(context) {
  const [replies, team, teams] = await Promise.all([
    every((query) => context.rest.get('reply-objects', query), 'reply_objects'),
    every((query) => context.rest.get('members', query), 'members'),
    every((query) => context.rest.get('teams', query), 'teams'),
  ]);
  /** @type {[value: string, words: string][]} */
  const receivers = [
    ['me', t('The operator who runs it')], ['queue', t('The queue')],
    ...team.filter(({ disabled }) => !disabled).map(({ id, name }) => (
      /** @type {[string, string]} */ ([id, name]))),
    ...teams.map(({ id, name }) => (
      /** @type {[string, string]} */ ([TEAM + id, t('{} (team)', name)]))),
  ];
  /** @type {[value: string, words: string][]} */
  const canned = replies.filter(({ object_type: type }) => type === 'text').map(
    ({ object_id: id, shortcut }) => [id, shortcut ? `/${shortcut}` : id]);
  return collection(context, {
    name: 'macros',
    title: t('Macros'),
    lead: t('Several actions in one. Press M in a conversation, or after you have selected several.'),
    one: t('Macro'),
    make: t('New macro'),
    look: 'bolt',
    empty: [t('No macros yet'), t('Answer, tag and close with one key.')],
    mayWrite: true,
    load: () => every((query) => context.rest.get('macros', query), 'macros'),
    key: ({ id }) => id,
    blank: () => ({ id: '', name: '', is_shared: false, may_change: true, actions: [] }),
    /** @returns {Values} */
    values: ({ name, is_shared: isShared, actions }) => ({
      name, is_shared: isShared, actions: actions.map(draft),
    }),
    heading: ({ name }) => name,
    row: (item) => ({
      title: item.name,
      meta: gist(item.actions),
      text: item.name,
      side: !item.is_shared && el('span.meta', {}, t('Only you')),
    }),
    fields: (form) => [
      text(form, 'name', { label: t('Name'), max: 100 }),
      toggle(form, 'is_shared', {
        label: t('Shared'),
        hint: t('All operators can run it. You and administrators can change it'),
      }),
      actionsField(form, receivers, canned),
    ],
    async save({ now }, item, isNew) {
      if (!now.name.trim()) throw refusal('name', t('Enter a name.'));
      if (!now.actions.length) throw refusal('actions', t('Add an action.'));
      const body = { ...now, actions: now.actions.map(action) };
      const answer = isNew ? await context.rest.post('macros', body)
        : await context.rest.patch(`macros/${item.id}`, body);
      return { item: answer.macro };
    },
    remove: ({ id }) => context.rest.remove(`macros/${id}`),
    removal: [t('Delete'), ({ name }) => t('Delete “{}”?', name)],
  });
}

/**
 * @param {import('./form.js').Form<Values>} form
 * @param {[value: string, words: string][]} receivers
 * @param {[value: string, words: string][]} canned
 */
const actionsField = (form, receivers, canned) => list(form, 'actions', {
  label: t('Actions'),
  hint: t('They run in this order. A reply may contain {{visitor.name}} and {{operator.name}}.'),
  add: t('Add an action'),
  row: (number) => t('Action {}', number),
  max: ACTIONS_MAX,
  /** @returns {Draft} */
  blank: () => ({ type: 'reply', value: '' }),
  draw: ({ type, value }, change) => {
    const { locked } = form;
    /** @param {string} words */
    const put = (words) => change({ value: words });
    /** @param {string} next */
    const retype = (next) => change({
      type: next,
      value: next === 'assign' ? 'me' : next === 'object' ? canned[0]?.[0] ?? '' : '',
    }, true);
    const kind = pick(t('Action'), type, TYPES, retype, { locked });
    switch (type) {
      case 'object': return [kind, pick(t('Canned reply'), value, canned, put, { locked })];
      case 'assign': return [kind, pick(t('To|receiver'), value, receivers, put, { locked })];
      case 'reply': case 'note':
        return [kind, cell(t('Text'), value, put, { locked, area: true, maxlength: 4000 })];
      case 'close':
        return [kind, cell(t('Reason (a note)'), value, put, { locked, maxlength: 500 })];
      case 'reopen': return [kind];
      default: return [kind, cell(t('Tags, with commas'), value, put, { locked, maxlength: 500 })];
    }
  },
});
