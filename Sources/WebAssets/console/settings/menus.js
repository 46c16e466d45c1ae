// Menu bars of the widget. One is published at a time; drafts wait here.

import { el, icon } from '../../shared/dom.js';
import { collection, every } from './collection.js';
import { text } from './fields.js';
import { refusal } from './form.js';
import { Preview } from './preview.js';
import { cell, list, pick } from './rows.js';

const STATES = { draft: 'Draft', published: 'Published', inactive: 'Unpublished' };
const KINDS = [['message', 'Sends a message'], ['url', 'Opens a page'], ['operator', 'Requests an operator']];
const MOST = 12; // as the server takes

const fields = (form) => [
  text(form, 'name', { label: 'Name', hint: 'Only your team sees it.', max: 100 }),
  list(form, 'actions', {
    label: 'Items',
    add: 'Add an item',
    row: 'Item',
    max: MOST,
    blank: () => ({ label: '', type: 'message', value: '' }),
    draw: (action, change) => [
      cell('Label', action.label, (label) => change({ label }), { locked: form.locked,
        maxlength: 40 }),
      pick('Action', action.type, KINDS, (type) => change({ type, redraw: true }), {
        locked: form.locked }),
      action.type !== 'operator' && cell(
        action.type === 'url' ? 'URL' : 'Text to send (empty: the label)',
        action.value,
        (value) => change({ value }),
        { locked: form.locked, maxlength: 2048,
          ...(action.type === 'url' && { type: 'url', placeholder: 'https://' }) },
      ),
    ].filter(Boolean),
  }),
];

/** A menu as it is sent; what cannot be meant is refused. @param {{name: string, actions: any[]}} now */
function checked({ name, actions }) {
  if (!name.trim()) throw refusal('name', 'Enter a name.');
  const clean = actions.filter(({ label }) => label.trim()).map(({ label, type, value }) => {
    if (type === 'url' && !/^https?:\/\//.test(value ?? '')) {
      throw refusal('actions', `“${label}” needs a URL. Start with https://.`);
    }
    const said = type === 'message' ? value || label.trim() : value;
    return { label: label.trim(), type, ...(type !== 'operator' && { value: said }) };
  });
  if (!clean.length) throw refusal('actions', 'Add at least one item.');
  return { name: name.trim(), actions: clean };
}

/** Publishing acts at once, and says what it does to the other one. */
function publishing(context, editor, reload) {
  const words = el('p.hint');
  const button = el('button.button', { type: 'button' });
  const draw = () => {
    const isOn = editor.item.status === 'published';
    const { length } = editor.form.changes;
    button.textContent = isOn ? 'Unpublish' : 'Publish';
    button.disabled = length > 0;
    words.textContent = length ? 'Save your changes first.'
      : isOn ? 'Visitors see this menu.' : 'It replaces the published menu, if there is one.';
  };
  button.onclick = async () => {
    const status = editor.item.status === 'published' ? 'inactive' : 'published';
    button.disabled = true;
    try {
      const answer = await context.rest.patch(`rich-menus/${editor.item.id}`, { status });
      editor.item.status = answer?.rich_menu?.status ?? status;
      await reload();
    } catch (error) {
      editor.form.fault(error);
    }
    draw();
  };
  editor.form.heard(draw);
  draw();
  return el('div.field', {}, el('span.label', {}, 'Publishing'), el('div', {}, button), words);
}

export async function open(context) {
  const { settings, workspace } = await context.workspace.load();
  const preview = new Preview({ inPage: true });
  let all = [];

  /** The menu that is open in the editor, else the published one. */
  function follow(menu = all.find(({ status }) => status === 'published')) {
    const actions = (menu?.actions ?? []).filter(({ label }) => label.trim());
    preview.update({
      ...settings.widget,
      workspace: { name: settings.widget.name || workspace.name },
      offline: settings.offline,
      rating: settings.rating,
      queue: { show_position: settings.queue.show_position },
      menu: actions.length ? { id: menu.id ?? 'new', actions } : null,
    });
  }

  const page = await collection(context, {
    name: 'menus',
    title: 'Menus',
    lead: 'Quick choices in the widget. One menu is published at a time.',
    noun: 'menu',
    look: 'menu',
    empty: ['No menus yet', 'Three or four items are enough, such as orders, opening hours and an operator.'],
    load: async () => (all = await every(context.rest, 'rich-menus', 'rich_menus')),
    below: () => [preview.root],
    opened: (editor) => follow(editor?.form.now),
    typed: (form) => follow(form.now),
    key: ({ id }) => id,
    heading: ({ name }) => name,
    blank: () => ({ name: '', actions: [{ label: '', type: 'message', value: '' }], status: 'draft' }),
    row: (item) => ({
      title: item.name,
      meta: item.actions.map(({ label }) => label).join(' · '),
      text: item.actions.map(({ label }) => label).join(' '),
      side: item.status === 'published'
        ? el('span.verdict', {}, icon('check', 'small'), STATES.published)
        : el('span.meta', {}, STATES[item.status]),
    }),
    fields: (form, item, isNew, editor) => [
      ...fields(form),
      !isNew && !form.locked && publishing(context, editor, () => page.reload()),
    ].filter(Boolean),
    async save(form, item, isNew) {
      const body = checked(form.now);
      const answer = isNew ? await context.rest.post('rich-menus', body)
        : await context.rest.patch(`rich-menus/${item.id}`, body);
      return Object.assign(item, answer?.rich_menu ?? answer ?? body);
    },
    remove: ({ id }) => context.rest.remove(`rich-menus/${id}`),
    removal: ['Delete', ({ name, status }) => status === 'published'
      ? `Delete “${name}”? It is published now.` : `Delete “${name}”?`],
  });

  const { show } = page;
  page.show = (item) => { show(item); preview.shown(); };
  return page;
}
