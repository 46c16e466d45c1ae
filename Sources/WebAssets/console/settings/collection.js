// A page of things that can be made, changed and removed: the list on the left, the one that is
// open in an editor beside it. The address names it, so the back button closes it. An editor that
// was changed keeps what was typed until it is saved or discarded.

import { el, icon } from '../../shared/dom.js';
import { isAbsent, sentence } from '../shell/rest.js';
import { sure } from './fields.js';
import { Form, saveBar } from './form.js';
import { isAdmin, pane } from './pane.js';

const NEW = 'new';
const SEARCHED = 8; // longer lists get a field to filter them
const PAGES_MAX = 40;

/**
 * @typedef {{
 *   name: string, title: string, lead: string, noun: string,
 *   load: () => Promise<any[]>, key: (item: any) => string,
 *   row: (item: any, all: any[]) => {lead?: Node, title: any, meta?: any, side?: any,
 *     text?: string},
 *   empty: [string, string], look: string, make?: string, blank?: () => any,
 *   fields: (form: Form, item: any, isNew: boolean, editor: Editor) => any[],
 *   values?: (item: any) => any,
 *   save?: (form: Form, item: any, isNew: boolean) => Promise<any>,
 *   once?: (answer: any, item: any) => Node?, verb?: string, saved?: string,
 *   remove?: (item: any) => Promise<any>, removal?: [string, (item: any) => string],
 *   mayWrite?: boolean, below?: (all: any[]) => any[], after?: () => void,
 *   typed?: (form: Form) => void, opened?: (editor: Editor?) => void, fixed?: boolean, locked?: string, heading?: (item: any) => string,
 * }} CollectionOptions
 * `fixed` things can be made and removed, not changed.
 * @typedef {{root: HTMLElement, form: Form, item: any, reload: () => Promise<void>}} Editor
 */

/** @param {any} context @param {CollectionOptions} on */
export async function collection(context, on) {
  const base = `#/settings/${on.name}`;
  const address = (key) => `${base}/${encodeURIComponent(key)}`;
  const mayWrite = on.mayWrite ?? isAdmin(context);
  const editors = /** @type {Map<string, Editor>} */ (new Map());
  const rows = el('ul.items');
  const below = el('div.below');
  const filter = el('input.input', {
    type: 'search',
    'aria-label': `Filter ${on.title.toLowerCase()}`,
    placeholder: 'Filter',
    hidden: true,
    input: draw,
  });
  const trouble = el('p.trouble-line', { role: 'alert', hidden: true });
  const aside = el('aside.stage.editor', { 'aria-label': on.noun, hidden: true });
  const make = mayWrite && on.blank && el('a.button.primary', { href: `${base}/${NEW}` },
    on.make ?? `New ${on.noun}`);
  const secrets = new Map();
  let all = await on.load();
  let current = '';
  let made = ''; // the one that was new a moment ago

  const root = pane({
    title: on.title,
    lead: on.lead,
    actions: make ? [make] : [],
    body: [trouble, filter, rows, below],
  });

  function draw() {
    const wanted = filter.value.trim().toLowerCase();
    const shown = all.map((item) => [item, on.row(item, all)]).filter(([item, row]) => !wanted
      || `${on.key(item)} ${row.text ?? ''} ${typeof row.title === 'string' ? row.title : ''}`
        .toLowerCase().includes(wanted));
    filter.hidden = all.length <= SEARCHED && !wanted;
    const held = /** @type {HTMLElement?} */ (document.activeElement)?.closest('.items a')
      ?.getAttribute('href');
    rows.replaceChildren(...shown.map(([item, row]) => draft(item, row)));
    if (held) /** @type {HTMLElement?} */ (rows.querySelector(`a[href="${held}"]`))?.focus();
    if (!shown.length) rows.append(wanted ? el('li.none', {}, 'Nothing like that is here.') : none());
    const last = on.below?.(all) ?? [];
    // what is there stays: a frame that is put in again begins anew
    if (last.some((node) => node.parentNode !== below)) below.replaceChildren(...last);
  }

  function draft(item, row) {
    const key = on.key(item);
    const dirty = editors.get(key)?.form.changes.length;
    return el(
      'li',
      {},
      el(
        'a.item',
        { href: address(key), 'aria-current': key === current && 'true' },
        row.lead,
        el(
          'span.item-text',
          {},
          el('b', { dir: 'auto' }, row.title),
          row.meta && el('span.item-meta', { dir: 'auto' }, row.meta),
        ),
        dirty ? el('span.mark', {}, 'not saved') : null,
        row.side && el('span.item-side', {}, row.side),
      ),
      row.tools,
    );
  }

  const none = () => el(
    'li.empty',
    {},
    icon(on.look),
    el('b', {}, on.empty[0]),
    el('p', {}, on.empty[1]),
  );

  async function reload() {
    try {
      all = await on.load();
      trouble.hidden = true;
    } catch (error) {
      trouble.hidden = false;
      trouble.replaceChildren(icon('alert', 'small'), sentence(error));
    }
    draw();
  }

  /** @param {string} item the key of what is to be open, `new`, or '' */
  function show(item) {
    const before = current;
    current = item;
    const known = all.find((one) => on.key(one) === item);
    let editor = editors.get(item);
    if (!editor && !secrets.has(item) && (known || (item === NEW && make))) {
      editor = edit(known ?? on.blank(), !known);
      editors.set(item, editor);
      if (item === made) editor.form.done = on.saved ?? 'Saved';
      made = '';
    }
    aside.hidden = !item;
    aside.replaceChildren(secrets.get(item) ?? editor?.root ?? gone());
    draw();
    context.level(item ? 2 : 1);
    on.opened?.(editor ?? null);
    if (before === item) return;
    if (secrets.has(item)) aside.querySelector('button.primary').focus();
    else if (item) focusIn(aside, item === NEW);
    else if (before) {
      const link = rows.querySelector(`a[href="${address(before)}"]`) ?? make;
      /** @type {HTMLElement?} */ (link || null)?.focus();
    }
  }

  const gone = () => el('div.empty', {}, el('b', {}, `There is no such ${on.noun}`),
    el('p', {}, 'It was removed, or the address is wrong.'),
    el('a.button', { href: base }, 'Back to the list'));

  function edit(item, isNew) {
    const form = new Form((on.values ?? ((one) => one))(item), {
      keep: `${context.session().operator.id}:${on.name}:${isNew ? NEW : on.key(item)}`,
      locked: mayWrite ? '' : on.locked ?? 'You can look at this. Administrators and owners change it.',
    });
    const editor = { root: el('div.editor-place'), form, item, reload };
    const more = [];
    if (!isNew && mayWrite && on.remove) {
      const [words, question] = on.removal ?? ['Delete', () => 'For good?'];
      more.push(sure(words, question(item), () => drop(editor)));
    }
    const heading = el('h2', { tabindex: -1, dir: 'auto' }, isNew ? on.make ?? `New ${on.noun}`
      : on.heading?.(item) ?? on.row(item, all).title);
    const { bar, submit } = on.save && (isNew || !on.fixed) ? saveBar(form, {
      save: () => save(editor, isNew),
      verb: isNew ? on.verb ?? 'Save' : 'Save',
      isNew,
      more,
      cancel: () => { editors.delete(NEW); location.hash = base; },
    }) : { bar: el('div.save', {}, el('p'), ...more), submit: (event) => event.preventDefault() };
    form.heard(() => { context.changed(); on.typed?.(form); });
    editor.root.replaceChildren(el(
      'form.pane-form',
      { novalidate: true, submit },
      el('header.pane-head', {}, heading, el('a.icon-button', {
        href: base,
        'aria-label': 'Close',
      }, icon('x'))),
      el('div.settings', {}, ...on.fields(form, item, isNew, editor)),
      bar,
    ));
    return editor;
  }

  async function save(editor, isNew) {
    const { form } = editor;
    let answer;
    const good = await form.save(async () => {
      answer = await on.save(form, editor.item, isNew);
      return isNew ? undefined : (on.values ?? ((one) => one))(answer.item ?? answer);
    }, on.saved ?? 'Saved');
    if (!good) return;
    const item = answer.item ?? answer;
    if (isNew) form.discard();
    await reload();
    on.after?.();
    const told = on.once?.(answer, item);
    if (isNew) {
      editors.delete(NEW);
      made = on.key(item);
      location.hash = address(on.key(item));
    }
    if (told) tell(on.key(item), told);
    context.changed();
  }

  /**
   * What is shown once takes the place of the editor until somebody says that they have it, also
   * when they went to another page meanwhile.
   */
  function tell(key, node) {
    const done = el('button.button.primary', {
      type: 'button',
      click: () => { secrets.delete(key); show(current); },
    }, 'I have it');
    secrets.set(key, el('div.settings.once', { role: 'status' }, node, el('p', {}, done)));
    if (current === key) show(key);
    if (current === key) done.focus();
  }

  async function drop(editor) {
    const key = on.key(editor.item);
    try {
      await on.remove(editor.item);
    } catch (error) {
      if (error.status !== 404 || isAbsent(error)) return editor.form.fault(error);
    }
    editor.form.discard();
    editors.delete(key);
    if (current === key) location.hash = base;
    await reload();
    on.after?.();
    context.changed();
  }

  draw();
  let first = true;
  return {
    root,
    aside,
    reload,
    tell,
    show(item) {
      if (!first && item === current) reload();
      first = false;
      show(item);
    },
    unsaved: () => [...editors.values()].reduce((sum, { form }) => sum + form.changes.length, 0),
  };
}

function focusIn(aside, isNew) {
  const target = aside.querySelector(isNew ? 'input:not([disabled]), textarea, select' : 'h2');
  /** @type {HTMLElement?} */ (target)?.focus({ preventScroll: true });
}

/** All pages of a list. @param {any} rest @param {string} path @param {string} name */
export async function every(rest, path, name) {
  const all = [];
  let cursor;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const answer = await rest.get(path, { cursor });
    all.push(...answer[name]);
    cursor = answer.next_cursor;
    if (!cursor) break;
  }
  return all;
}
