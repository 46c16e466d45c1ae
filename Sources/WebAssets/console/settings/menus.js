// Menus of the widget: choices above the composer. One menu at a time is published.

import { el, icon } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { collection, every } from './collection.js';
import { text } from './fields.js';
import { refusal } from './form.js';
import { Preview } from './preview.js';
import { handoverTeam } from './routing.js';
import { cell, list, pick } from './rows.js';

/** @typedef {import('./pane.js').SettingsContext} SettingsContext */
/** @typedef {import('./form.js').Form<RichMenu>} MenuForm */
/** @typedef {import('./collection.js').CollectionOptions<RichMenu, RichMenu>} Options */

/** @type {Record<string, string>} */
const STATES = { draft: t('Draft'), published: t('Published'), inactive: t('Unpublished') };
/**
 * Whether another channel shows its copy of the menu, by `sync_status`.
 * @type {Record<string, string>}
 */
const COPIES = {
  none: t('LINE does not show this menu.'),
  pending: t('Waiting to be sent to LINE.'),
  synced: t('LINE shows this version.'),
  failed: t('LINE does not show this menu.'),
};
/** @type {[value: string, words: string][]} */
const KINDS = [
  ['message', t('Sends a message')], ['url', t('Opens a page')], ['operator', t('Requests an operator')],
];
const ACTIONS_MAX = 12; // as the gateway takes

/**
 * @param {MenuForm} form
 * @param {Team[]} teams
 * @returns {HTMLElement[]}
 */
const fields = (form, teams) => [
  text(form, 'name', { label: t('Name'), hint: t('Only your team sees it.'), max: 100 }),
  list(form, 'actions', {
    label: t('Items'),
    add: t('Add an item'),
    row: (number) => t('Item {}', number),
    max: ACTIONS_MAX,
    blank,
    draw: (action, change) => [
      cell(t('Label'), action.label, (label) => change({ label }), { locked: form.locked,
        maxlength: 40 }),
      pick(t('Action'), action.type, KINDS, (type) => change({ type, value: '' }, true), {
        locked: form.locked }),
      action.type === 'operator' ? handoverTeam(teams, action.value ?? '',
        (value) => change({ value }), form.locked) : cell(
        action.type === 'url' ? 'URL' : t('Text to send (empty: the label)'),
        action.value,
        (value) => change({ value }),
        { locked: form.locked, maxlength: 2048,
          ...(action.type === 'url' && { type: 'url', placeholder: 'https://' }) },
      ),
    ],
  }),
  text(form, 'image_url', {
    label: t('Picture for LINE'),
    type: 'url',
    max: 2048,
    placeholder: 'https://',
    hint: t('The URL of a PNG or JPEG of up to 1 MB, 800 to 2,500 pixels wide. Items are in rows of up to three.'),
  }),
];

/** @returns {Choice} */
const blank = () => ({ label: '', type: 'message', value: '' });

/**
 * The menu to send. One that is incomplete is refused.
 * @param {RichMenu} menu
 */
function checked({ name, actions, image_url: picture = '' }) {
  if (!name.trim()) throw refusal('name', t('Enter a name.'));
  const clean = actions.filter(({ label }) => label.trim()).map(({ label, type, value }) => {
    if (type === 'url' && !/^https?:\/\//.test(value ?? '')) {
      throw refusal('actions', t('“{}” needs a URL. Start with https://.', label));
    }
    const said = type === 'message' ? value || label.trim() : value;
    return { label: label.trim(), type, ...(type !== 'operator' || value) && { value: said } };
  });
  if (!clean.length) throw refusal('actions', t('Add at least one item.'));
  return { name: name.trim(), actions: clean, image_url: picture.trim() };
}

/**
 * The button that publishes a menu, which takes the other one off the widget.
 * @param {SettingsContext} context
 * @param {import('./collection.js').Editor<RichMenu, RichMenu>} editor
 * @param {() => Promise<void>} reload
 */
function publishing(context, editor, reload) {
  const words = el('p.hint');
  const button = el('button.button', { type: 'button' });
  const draw = () => {
    const isOn = editor.item.status === 'published';
    const { length } = editor.form.changes;
    button.textContent = isOn ? t('Unpublish') : t('Publish');
    button.disabled = length > 0;
    words.textContent = length ? t('Save your changes first.')
      : isOn ? t('Visitors see this menu.') : t('It replaces the published menu, if there is one.');
  };
  button.onclick = async () => {
    const status = editor.item.status === 'published' ? 'inactive' : 'published';
    button.disabled = true;
    try {
      const answer = await context.rest.patch(`rich-menus/${editor.item.id}`, { status });
      Object.assign(editor.item, answer?.rich_menu ?? { status });
      await reload();
    } catch (error) {
      editor.form.fault(error);
    }
    draw();
  };
  editor.form.onChange(draw);
  draw();
  return el('div.field', {}, el('span.label', {}, t('Publishing')), el('div', {}, button), words);
}

/** @param {RichMenu} menu */
const copy = ({ sync_status: status = 'none', sync_error: error }) => (
  error ? t('LINE does not show this version: {}', error) : COPIES[status] ?? COPIES.none
);

/**
 * A menu in the list.
 * @param {RichMenu} item
 */
const row = (item) => ({
  title: item.name,
  meta: item.actions.map(({ label }) => label).join(' · '),
  text: item.actions.map(({ label }) => label).join(' '),
  side: item.status === 'published'
    ? el('span.verdict', {}, icon('check', 'small'), STATES.published)
    : el('span.meta', {}, STATES[item.status]),
});

/** @param {SettingsContext} context */
export async function open(context) {
  const { settings, workspace } = await context.workspace.load();
  /** @type {Team[]} */
  const teams = await every((query) => context.rest.get('teams', query), 'teams').catch(() => []);
  const preview = new Preview({ inPage: true });
  /** @type {RichMenu[]} */
  let all = [];

  /**
   * Shows the menu of the editor, or else the published one.
   * @param {RichMenu=} menu
   */
  function follow(menu = all.find(({ status }) => status === 'published')) {
    const actions = (menu?.actions ?? []).filter(({ label }) => label.trim());
    preview.update({
      ...settings.widget,
      workspace: { name: settings.widget.name || workspace.name },
      offline: settings.offline,
      rating: settings.rating,
      queue: settings.queue,
      menu: actions.length ? { id: menu?.id || 'new', actions } : null,
    });
  }

  const reload = () => page.reload();
  /** @type {Awaited<ReturnType<typeof collection>>} */
  const page = await collection(context, /** @type {Options} */ ({
    name: 'menus',
    title: t('Menus'),
    lead: t('Quick choices in the widget. One menu is published at a time.'),
    one: t('Menu'),
    make: t('New menu'),
    look: 'menu',
    empty: [t('No menus yet'), t('Three or four items are enough, such as orders, opening hours and an operator.')],
    load: async () => {
      all = await every((query) => context.rest.get('rich-menus', query), 'rich_menus');
      return all;
    },
    below: () => [preview.root],
    opened: (editor) => follow(editor?.form.now),
    typed: (form) => follow(form.now),
    key: ({ id }) => id,
    heading: ({ name }) => name,
    blank: () => ({ id: '', name: '', actions: [blank()], image_url: '', status: 'draft' }),
    values: (item) => item,
    row,
    fields: (form, item, isNew, editor) => [
      ...fields(form, teams),
      !isNew && !form.locked && publishing(context, editor, reload),
      !isNew && el('div.field', {}, el('span.label', {}, 'LINE'), el('p.hint', {}, copy(item))),
    ],
    async save(form, item, isNew) {
      const body = checked(form.now);
      const answer = isNew ? await context.rest.post('rich-menus', body)
        : await context.rest.patch(`rich-menus/${item.id}`, body);
      return { item: Object.assign(item, answer?.rich_menu ?? body) };
    },
    remove: ({ id }) => context.rest.remove(`rich-menus/${id}`),
    removal: [t('Delete'), ({ name, status }) => status === 'published'
      ? t('Delete “{}”? It is published now.', name) : t('Delete “{}”?', name)],
  }));

  const { show } = page;
  page.show = (item) => { show(item); preview.shown(); };
  return page;
}
