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
  const page = new Collection(context, on, await on.load());
  page.draw();
  return {
    root: page.root,
    aside: page.aside,
    reload: () => page.reload(),
    /** @param {string} key @param {Node} node */
    tell: (key, node) => page.tell(key, node),
    /** @param {string} item */
    show: (item) => page.visit(item),
    unsaved: () => page.unsaved(),
  };
}

class Collection {
  #context;
  #on;
  #all;
  #base;
  #mayWrite;
  #editors = /** @type {Map<string, Editor>} */ (new Map());
  /** What is shown once, by the key of what it belongs to. */
  #secrets = /** @type {Map<string, HTMLElement>} */ (new Map());
  #rows = el('ul.items');
  #below = el('div.below');
  #trouble = el('p.trouble-line', { role: 'alert', hidden: true });
  #filter;
  #make;
  #current = '';
  /** The one that was new a moment ago. */
  #made = '';
  #isFirst = true;

  /** @param {any} context @param {CollectionOptions} on @param {any[]} all */
  constructor(context, on, all) {
    this.#context = context;
    this.#on = on;
    this.#all = all;
    this.#base = `#/settings/${on.name}`;
    this.#mayWrite = on.mayWrite ?? isAdmin(context);
    this.#filter = el('input.input', {
      type: 'search',
      'aria-label': `Filter ${on.title.toLowerCase()}`,
      placeholder: 'Filter',
      hidden: true,
      input: () => this.draw(),
    });
    this.aside = el('aside.stage.editor', { 'aria-label': on.noun, hidden: true });
    this.#make = this.#mayWrite && on.blank && el(
      'a.button.primary',
      { href: `${this.#base}/${NEW}` },
      on.make ?? `New ${on.noun}`,
    );
    this.root = pane({
      title: on.title,
      lead: on.lead,
      actions: this.#make ? [this.#make] : [],
      body: [this.#trouble, this.#filter, this.#rows, this.#below],
    });
  }

  /** @param {string} key */
  #address(key) { return `${this.#base}/${encodeURIComponent(key)}`; }

  // MARK: the list

  draw() {
    const on = this.#on;
    const rows = this.#rows;
    const all = this.#all;
    const wanted = this.#filter.value.trim().toLowerCase();
    const shown = all.map((item) => ({ item, row: on.row(item, all) })).filter(
      ({ item, row }) => !wanted || this.#text(item, row).includes(wanted)
    );
    this.#filter.hidden = all.length <= SEARCHED && !wanted;
    const held = /** @type {HTMLElement?} */ (document.activeElement)?.closest('.items a')
      ?.getAttribute('href');
    rows.replaceChildren(...shown.map(({ item, row }) => this.#line(item, row)));
    if (held) /** @type {HTMLElement?} */ (rows.querySelector(`a[href="${held}"]`))?.focus();
    if (!shown.length) {
      rows.append(wanted ? el('li.none', {}, 'No matches.') : this.#none());
    }
    const last = on.below?.(all) ?? [];
    // what is there stays: a frame that is put in again begins anew
    if (last.some((node) => node.parentNode !== this.#below)) this.#below.replaceChildren(...last);
  }

  /** What the filter looks through. @param {any} item @param {any} row */
  #text(item, row) {
    const title = typeof row.title === 'string' ? row.title : '';
    return `${this.#on.key(item)} ${row.text ?? ''} ${title}`.toLowerCase();
  }

  /** @param {any} item @param {any} row */
  #line(item, row) {
    const key = this.#on.key(item);
    const isDirty = this.#editors.get(key)?.form.changes.length;
    return el(
      'li',
      {},
      el(
        'a.item',
        { href: this.#address(key), 'aria-current': key === this.#current && 'true' },
        row.lead,
        el(
          'span.item-text',
          {},
          el('b', { dir: 'auto' }, row.title),
          row.meta && el('span.item-meta', { dir: 'auto' }, row.meta),
        ),
        isDirty ? el('span.mark', {}, 'unsaved') : null,
        row.side && el('span.item-side', {}, row.side),
      ),
      row.tools,
    );
  }

  #none() {
    const { look, empty } = this.#on;
    return el('li.empty', {}, icon(look), el('b', {}, empty[0]), el('p', {}, empty[1]));
  }

  async reload() {
    try {
      this.#all = await this.#on.load();
      this.#trouble.hidden = true;
    } catch (error) {
      this.#trouble.hidden = false;
      this.#trouble.replaceChildren(icon('alert', 'small'), sentence(error));
    }
    this.draw();
  }

  // MARK: the one that is open

  /** The address names it; it may be open already. @param {string} item */
  visit(item) {
    if (!this.#isFirst && item === this.#current) this.reload();
    this.#isFirst = false;
    this.#show(item);
  }

  /** @param {string} item the key of what is to be open, `new`, or '' */
  #show(item) {
    const { aside } = this;
    const before = this.#current;
    this.#current = item;
    const secret = this.#secrets.get(item);
    const editor = this.#editorOf(item);
    aside.hidden = !item;
    aside.replaceChildren(secret ?? editor?.root ?? this.#gone());
    this.draw();
    this.#context.level(item ? 2 : 1);
    this.#on.opened?.(editor ?? null);
    if (before === item) return;
    if (secret) /** @type {HTMLElement?} */ (aside.querySelector('button.primary'))?.focus();
    else if (item) focusIn(aside, item === NEW);
    else if (before) {
      const link = this.#rows.querySelector(`a[href="${this.#address(before)}"]`) ?? this.#make;
      /** @type {HTMLElement?} */ (link || null)?.focus();
    }
  }

  /** The editor there is, or a new one for what is known. @param {string} item */
  #editorOf(item) {
    let editor = this.#editors.get(item);
    if (editor || this.#secrets.has(item)) return editor;
    const known = this.#all.find((one) => this.#on.key(one) === item);
    if (known || item === NEW && this.#make) {
      editor = this.#edit(known ?? this.#on.blank?.(), !known);
      this.#editors.set(item, editor);
      if (item === this.#made) editor.form.done = this.#on.saved ?? 'Saved';
      this.#made = '';
    }
    return editor;
  }

  #gone() {
    return el(
      'div.empty',
      {},
      el('b', {}, `This ${this.#on.noun} does not exist`),
      el('p', {}, 'It was deleted, or the link is wrong.'),
      el('a.button', { href: this.#base }, 'Back to the list'),
    );
  }

  /** @param {any} item @param {boolean} isNew @returns {Editor} */
  #edit(item, isNew) {
    const on = this.#on;
    const form = new Form(this.#values(item), {
      keep: `${this.#context.session().operator.id}:${on.name}:${isNew ? NEW : on.key(item)}`,
      locked: this.#mayWrite ? ''
        : on.locked ?? 'View only. Administrators and owners can change this.',
    });
    const editor = { root: el('div.editor-place'), form, item, reload: () => this.reload() };
    const heading = el('h2', { tabindex: -1, dir: 'auto' }, isNew ? on.make ?? `New ${on.noun}`
      : on.heading?.(item) ?? on.row(item, this.#all).title);
    const { bar, submit } = this.#bar(editor, isNew);
    form.heard(() => { this.#context.changed(); on.typed?.(form); });
    editor.root.replaceChildren(el(
      'form.pane-form',
      { novalidate: true, submit },
      el('header.pane-head', {}, heading, el('a.icon-button', {
        href: this.#base,
        'aria-label': 'Close',
      }, icon('x'))),
      el('div.settings', {}, ...on.fields(form, item, isNew, editor)),
      bar,
    ));
    return editor;
  }

  /** What stands below the fields: save, discard, delete. @param {Editor} editor @param {boolean} isNew */
  #bar(editor, isNew) {
    const on = this.#on;
    const more = [];
    if (!isNew && this.#mayWrite && on.remove) {
      const [words, question] = on.removal ?? ['Delete', () => 'Delete permanently?'];
      more.push(sure(words, question(editor.item), () => this.#drop(editor)));
    }
    if (!on.save || !isNew && on.fixed) {
      return {
        bar: el('div.save', {}, el('p'), ...more),
        submit: (/** @type {Event} */ event) => event.preventDefault(),
      };
    }
    return saveBar(editor.form, {
      save: () => this.#save(editor, isNew),
      verb: isNew ? on.verb ?? 'Save' : 'Save',
      isNew,
      more,
      cancel: () => { this.#editors.delete(NEW); location.hash = this.#base; },
    });
  }

  /** The part of a thing that its form changes. @param {any} item */
  #values(item) { return this.#on.values ? this.#on.values(item) : item; }

  /** @param {Editor} editor @param {boolean} isNew */
  async #save(editor, isNew) {
    const on = this.#on;
    const { form } = editor;
    /** @type {any} */
    let answer;
    const isGood = await form.save(async () => {
      answer = await on.save?.(form, editor.item, isNew);
      return isNew ? undefined : this.#values(answer.item ?? answer);
    }, on.saved ?? 'Saved');
    if (!isGood) return;
    const item = answer.item ?? answer;
    if (isNew) form.discard();
    await this.reload();
    on.after?.();
    const told = on.once?.(answer, item);
    if (isNew) {
      this.#editors.delete(NEW);
      this.#made = on.key(item);
      location.hash = this.#address(on.key(item));
    }
    if (told) this.tell(on.key(item), told);
    this.#context.changed();
  }

  /**
   * What is shown once takes the place of the editor until somebody says that they have it, also
   * when they went to another page meanwhile.
   * @param {string} key
   * @param {Node} node
   */
  tell(key, node) {
    const done = el('button.button.primary', {
      type: 'button',
      click: () => { this.#secrets.delete(key); this.#show(this.#current); },
    }, 'I have copied it');
    const once = el('div.settings.once', { role: 'status' }, node, el('p', {}, done));
    this.#secrets.set(key, once);
    if (this.#current !== key) return;
    this.#show(key);
    done.focus();
  }

  /** @param {Editor} editor */
  async #drop(editor) {
    const key = this.#on.key(editor.item);
    try {
      await this.#on.remove?.(editor.item);
    } catch (failure) {
      const error = /** @type {any} */ (failure);
      if (error.status !== 404 || isAbsent(error)) return editor.form.fault(error);
    }
    editor.form.discard();
    this.#editors.delete(key);
    if (this.#current === key) location.hash = this.#base;
    await this.reload();
    this.#on.after?.();
    this.#context.changed();
  }

  unsaved() {
    return [...this.#editors.values()].reduce((sum, { form }) => sum + form.changes.length, 0);
  }
}

/** @param {HTMLElement} aside @param {boolean} isNew */
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
