// Menu bars of the widget. One is published at a time; drafts wait here.

import { el, icon } from '../../shared/dom.js';
import { collection, every } from './collection.js';
import { text } from './fields.js';
import { refusal } from './form.js';
import { Preview } from './preview.js';
import { cell, list, pick } from './rows.js';

const STATES = { draft: 'Draft', published: 'Published', inactive: 'Was published' };
const KINDS = [['message', 'Says something'], ['url', 'Opens a page'], ['operator', 'Asks for a person']];
const MOST = 12; // as the server takes

const fields = (form) => [
  text(form, 'name', { label: 'Name', hint: 'For you, visitors do not see it.', max: 100 }),
  list(form, 'actions', {
    label: 'Choices',
    add: 'Add a choice',
    row: 'Choice',
    max: MOST,
    blank: () => ({ label: '', type: 'message', value: '' }),
    draw: (action, change) => [
      cell('Words', action.label, (label) => change({ label }), { locked: form.locked,
        maxlength: 40 }),
      pick('Does', action.type, KINDS, (type) => change({ type, redraw: true }), {
        locked: form.locked }),
      action.type !== 'operator' && cell(
        action.type === 'url' ? 'Address' : 'Says (empty: its words)',
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
  if (!name.trim()) throw refusal('name', 'It needs a name.');
  const clean = actions.filter(({ label }) => label.trim()).map(({ label, type, value }) => {
    if (type === 'url' && !/^https?:\/\//.test(value ?? '')) {
      throw refusal('actions', `“${label}” opens no address. Begin with https://.`);
    }
    const said = type === 'message' ? value || label.trim() : value;
    return { label: label.trim(), type, ...(type !== 'operator' && { value: said }) };
  });
  if (!clean.length) throw refusal('actions', 'A menu has one choice at least.');
  return { name: name.trim(), actions: clean };
}

/** Publishing acts at once, and says what it does to the other one. */
function publishing(context, editor, reload) {
  const words = el('p.hint');
  const button = el('button.button', { type: 'button' });
  const draw = () => {
    const isOn = editor.item.status === 'published';
    const { length } = editor.form.changes;
    button.textContent = isOn ? 'Take it off the widget' : 'Publish';
    button.disabled = length > 0;
    words.textContent = length ? 'Save first, then publish.'
      : isOn ? 'Visitors see this menu.' : 'Another published menu is taken off.';
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
  return el('div.field', {}, el('span.label', {}, 'On the widget'), el('div', {}, button), words);
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
    lead: 'A bar of choices above the composer, so that nobody has to guess what to write.',
    noun: 'menu',
    look: 'menu',
    empty: ['No menu yet', 'Three or four choices are enough: an order, the shop, a person.'],
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
      ? `Delete “${name}”? Visitors see it now.` : `Delete “${name}”?`],
  });

  const { show } = page;
  page.show = (item) => { show(item); preview.shown(); };
  return page;
}
