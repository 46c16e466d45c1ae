// A page for objects that can be made, changed and removed: a list, and the open object in an
// editor beside it. The address names the object, so the back button closes the editor. An editor
// keeps its unsaved changes.

import { el, icon } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { Problem } from '../shell/api.js';
import { isAbsent, sentence } from '../shell/rest.js';
import { find, focusOn } from '../shell/element.js';
import { confirmed } from './fields.js';
import { Form, saveBar } from './form.js';
import { editorPlace, headingLevel, isAdmin, pane } from './pane.js';

const NEW = 'new';
const FILTERED_FROM = 8; // longer lists get a field to filter them
const PAGES_MAX = 40;

/** @typedef {import('../../shared/dom.js').Child} Child */
/** @typedef {import('./pane.js').SettingsContext} SettingsContext */

/**
 * A line of the list. The filter searches `text` and the title.
 * @typedef {{lead?: Node, title: string | Node, meta?: string, side?: Child, text?: string,
 *   tools?: Child}} Line
 */

/**
 * @template Item
 * @template Values
 * @typedef {{root: HTMLElement, form: Form<Values>, item: Item}} Editor
 */

/**
 * @template Item
 * @typedef {{item: Item, secret?: string}} Saved
 */

/**
 * The kind of objects on a page. Texts: `one` names an object, `make` is for the button and `verb`
 * for the form that make one, `saved` after a save, `removal` with the question before removing.
 * Objects: `values` are the part that the form edits; `save` returns the object afterwards, and a
 * `secret` that `once` shows a single time. `fixed` objects cannot be changed. Events: `typed`
 * after each change of a field, `opened` when an editor opens or closes, `after` a save or a
 * removal.
 * @template Item
 * @template Values
 * @typedef {{
 *   name: string, title: string, lead: string, one: string, empty: [string, string],
 *   look: string, make: string, verb?: string, saved?: string, locked?: string,
 *   load: () => Promise<Item[]>, key: (item: Item) => string, heading: (item: Item) => string,
 *   row: (item: Item, all: Item[]) => Line, blank: () => Item, values: (item: Item) => Values,
 *   fields: (form: Form<Values>, item: Item, isNew: boolean,
 *     editor: Editor<Item, Values>) => Child[],
 *   save: (form: Form<Values>, item: Item, isNew: boolean) => Promise<Saved<Item>>,
 *   once?: (secret: string, item: Item) => Node,
 *   onceRead?: (secret: string) => string | undefined,
 *   remove?: (item: Item) => Promise<unknown>, removal: [string, (item: Item) => string],
 *   mayWrite?: boolean, fixed?: boolean, below?: () => Node[],
 *   typed?: (form: Form<Values>) => void, opened?: (editor: Editor<Item, Values>?) => void,
 *   after?: () => void,
 * }} CollectionOptions
 */

/**
 * @template Item
 * @template Values
 * @param {SettingsContext} context
 * @param {CollectionOptions<Item, Values>} on
 */
export async function collection(context, on) {
  const page = new Collection(context, on, await on.load());
  page.draw();
  return {
    root: page.root,
    aside: page.aside,
    reload: () => page.reload(),
    /** @type {(key: string, node: Node) => void} */
    showOnce: (key, node) => page.showOnce(key, node),
    /** @param {string} item */
    show: (item) => page.visit(item),
    unsaved: () => page.unsaved(),
  };
}

/**
 * @template Item
 * @template Values
 */
class Collection {
  #context;
  #on;
  #all;
  #base;
  #mayWrite;
  /** @type {Map<string, Editor<Item, Values>>} */
  #editors = new Map();
  /**
   * Secrets that are shown once, by the key of their object.
   * @type {Map<string, HTMLElement>}
   */
  #secrets = new Map();
  #rows = el('ul.items');
  #below = el('div.below');
  #trouble = el('p.trouble-line', { role: 'alert', hidden: true });
  /** @type {HTMLInputElement} */
  #filter;
  #make;
  /** The key of the open object, `NEW` or ''. */
  #current = '';
  /** The key of an object that was just made. */
  #made = '';
  #isFirst = true;

  /**
   * @param {SettingsContext} context
   * @param {CollectionOptions<Item, Values>} on
   * @param {Item[]} all
   */
  constructor(context, on, all) {
    this.#context = context;
    this.#on = on;
    this.#all = all;
    this.#base = `#/settings/${on.name}`;
    this.#mayWrite = on.mayWrite ?? isAdmin(context);
    this.#filter = el('input.input', {
      type: 'search',
      'aria-label': t('Filter the list'),
      placeholder: t('Filter'),
      hidden: true,
      input: () => { this.draw(); },
    });
    this.aside = editorPlace(on.one);
    this.#make = this.#mayWrite && el(
      'a.button.primary',
      { href: `${this.#base}/${NEW}` },
      on.make,
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
    this.#filter.hidden = all.length <= FILTERED_FROM && !wanted;
    const held = document.activeElement?.closest('.items a')?.getAttribute('href');
    rows.replaceChildren(...shown.map(({ item, row }) => this.#line(item, row)));
    if (held) focusOn(rows.querySelector(`a[href="${held}"]`));
    if (!shown.length) {
      rows.append(wanted ? el('li.none', {}, t('No matches.')) : this.#none());
    }
    const last = on.below?.() ?? [];
    // nodes that are there stay: an iframe that is inserted again loads anew
    if (last.some((node) => node.parentNode !== this.#below)) this.#below.replaceChildren(...last);
  }

  /**
   * The text that the filter searches.
   * @param {Item} item
   * @param {Line} row
   */
  #text(item, row) {
    const title = typeof row.title === 'string' ? row.title : '';
    return `${this.#on.key(item)} ${row.text ?? ''} ${title}`.toLowerCase();
  }

  /**
   * @param {Item} item
   * @param {Line} row
   */
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
        isDirty ? el('span.mark', {}, t('unsaved')) : null,
        row.side && el('span.item-side', {}, row.side),
      ),
      row.tools,
    );
  }

  #none() {
    const { look, empty } = this.#on;
    return el('li.empty', {}, icon(look), el('b', {}, empty[0]), el('p', {}, empty[1]),
      this.#make && el('a.button', { href: `${this.#base}/${NEW}` }, t('Create the first one')));
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

  // MARK: the editor

  /**
   * The address names an object, which may be open already.
   * @param {string} item its key, `NEW` or ''
   */
  visit(item) {
    if (!this.#isFirst && item === this.#current) this.reload();
    this.#isFirst = false;
    this.#show(item);
  }

  /** @param {string} item */
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
    if (secret) focusOn(aside.querySelector('button.primary'));
    else if (item) focusIn(aside, item === NEW);
    else if (before) {
      focusOn(this.#rows.querySelector(`a[href="${this.#address(before)}"]`) ?? this.#make);
    }
  }

  /**
   * The editor of an object, or a new one if the object exists.
   * @param {string} item
   */
  #editorOf(item) {
    let editor = this.#editors.get(item);
    if (editor || this.#secrets.has(item)) return editor;
    const known = this.#all.find((one) => this.#on.key(one) === item);
    if (known || item === NEW && this.#make) {
      editor = this.#edit(known ?? this.#on.blank(), !known);
      this.#editors.set(item, editor);
      if (item === this.#made) editor.form.done = this.#on.saved ?? t('Saved');
      this.#made = '';
    }
    return editor;
  }

  #gone() {
    return el(
      'div.empty',
      {},
      el('b', {}, t('This entry does not exist')),
      el('p', {}, t('It was deleted, or the link is wrong.')),
      el('a.button', { href: this.#base }, t('Back to the list')),
    );
  }

  /**
   * @param {Item} item
   * @param {boolean} isNew
   * @returns {Editor<Item, Values>}
   */
  #edit(item, isNew) {
    const on = this.#on;
    const form = new Form(on.values(item), {
      keep: `${this.#context.session().operator.id}:${on.name}:${isNew ? NEW : on.key(item)}`,
      locked: this.#mayWrite ? ''
        : on.locked ?? t('View only. Administrators and owners can change this.'),
    });
    const editor = { root: el('div.editor-place'), form, item };
    const heading = el('h2', { tabindex: -1, dir: 'auto', 'aria-level': headingLevel() },
      isNew ? on.make : on.heading(item));
    const { bar, submit } = this.#bar(editor, isNew);
    form.onChange(() => { this.#context.changed(); on.typed?.(form); });
    editor.root.replaceChildren(el(
      'form.pane-form',
      { novalidate: true, submit },
      el('header.pane-head', {}, heading, el('a.icon-button', {
        href: this.#base,
        'aria-label': t('Close|panel'),
      }, icon('x'))),
      el('div.settings', {}, ...on.fields(form, item, isNew, editor)),
      bar,
    ));
    return editor;
  }

  /**
   * The bar below the fields: save, discard, remove.
   * @param {Editor<Item, Values>} editor
   * @param {boolean} isNew
   */
  #bar(editor, isNew) {
    const on = this.#on;
    const more = [];
    if (!isNew && this.#mayWrite && on.remove) {
      const [words, question] = on.removal;
      more.push(confirmed(words, question(editor.item), () => this.#remove(editor)));
    }
    if (!isNew && on.fixed) {
      /** @param {Event} event */
      const submit = (event) => event.preventDefault();
      return { bar: el('div.save', {}, el('p'), ...more), submit };
    }
    return saveBar(editor.form, {
      save: () => this.#save(editor, isNew),
      verb: isNew ? on.verb ?? t('Save') : t('Save'),
      isNew,
      more,
      cancel: () => { this.#editors.delete(NEW); location.hash = this.#base; },
    });
  }

  /**
   * @param {Editor<Item, Values>} editor
   * @param {boolean} isNew
   */
  async #save(editor, isNew) {
    const on = this.#on;
    const { form } = editor;
    /** @type {Saved<Item>[]} */
    const answers = [];
    await form.save(async () => {
      const answer = await on.save(form, editor.item, isNew);
      answers.push(answer);
      return isNew ? undefined : on.values(answer.item);
    }, on.saved ?? t('Saved'));
    const [answer] = answers;
    if (!answer) return; // refused
    const { item, secret } = answer;
    const key = on.key(item);
    if (isNew) form.discard();
    await this.reload();
    on.after?.();
    if (isNew) {
      this.#editors.delete(NEW);
      this.#made = key;
      location.hash = this.#address(key);
    }
    if (secret && on.once) this.showOnce(key, on.once(secret, item), on.onceRead?.(secret));
    this.#context.changed();
  }

  /**
   * Shows a secret in place of the editor until the operator confirms it, also after a visit of
   * another page.
   * @param {string} key of its object
   * @param {Node} node
   * @param {string} confirm the words of the button
   */
  showOnce(key, node, confirm = t('I have copied it')) {
    const done = el('button.button.primary', {
      type: 'button',
      click: () => { this.#secrets.delete(key); this.#show(this.#current); },
    }, confirm);
    const once = el('div.settings.once', { role: 'status' }, node, el('p', {}, done));
    this.#secrets.set(key, once);
    if (this.#current !== key) return;
    this.#show(key);
    done.focus();
  }

  /** @param {Editor<Item, Values>} editor */
  async #remove(editor) {
    const key = this.#on.key(editor.item);
    try {
      await this.#on.remove?.(editor.item);
    } catch (error) {
      // 404: somebody else has removed it
      const isGone = error instanceof Problem && error.status === 404 && !isAbsent(error);
      if (!isGone) return editor.form.fault(error);
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

/**
 * @param {HTMLElement} aside
 * @param {boolean} isNew
 */
function focusIn(aside, isNew) {
  const selector = isNew ? 'input:not([disabled]), textarea, select' : 'h2';
  find(aside, selector, HTMLElement)?.focus({ preventScroll: true });
}

/**
 * All items of a list, page by page.
 * @template {keyof Lists} Name
 * @param {(query: Query) => Promise<ListPage<Name>>} get requests a page
 * @param {Name} name of the list in the answer
 */
export async function every(get, name) {
  /** @type {Lists[Name][]} */
  const all = [];
  /** @type {string?} */
  let cursor = null;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    /** @type {ListPage<Name>} */
    const answer = await get({ cursor });
    all.push(...answer[name]);
    cursor = answer.next_cursor;
    if (!cursor) break;
  }
  return all;
}
