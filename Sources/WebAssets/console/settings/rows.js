// A field that edits a list: rows can be added, changed, moved and removed. To the form the whole
// list is one value.

import { el, icon } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { focusOn } from '../shell/element.js';
import { uid } from './form.js';

/** @typedef {import('./form.js').Form<unknown>} Form */
/** @typedef {import('../../shared/dom.js').Child} Child */

/**
 * `row` names a row by its number. `draw` returns the fields of a row; `change` replaces an item
 * that is a string and changes members of an object, and with `redraw` the row is drawn anew. In
 * a `fixed` list the order does not matter.
 * @template Item
 * @typedef {{label: string, hint?: string, add: string, blank: () => Item, max?: number,
 *   row: (number: number) => string, fixed?: boolean,
 *   draw: (item: Item, change: (change: Partial<Item>, redraw?: boolean) => void) => Child[]}}
 *   ListOptions
 */

const ROWS_MAX = 50;

/**
 * @template Item
 * @param {Form} form
 * @param {string} path
 * @param {ListOptions<Item>} on
 */
export function list(form, path, on) {
  const problem = el('p.error', { role: 'alert', hidden: true });
  const rows = el('ol.rows-field');
  const add = el('button.button', {
    type: 'button',
    disabled: !!form.locked,
    click: () => {
      set([...items(), on.blank()]);
      focusOn(rows.lastElementChild?.querySelector('input, textarea, select'));
    },
  }, icon('plus', 'small'), on.add);
  let drawn = '';
  /** @returns {Item[]} */
  const items = () => form.get(path) ?? [];
  const field = { on, rows, add, items, set };

  /**
   * A change inside a row does not draw it anew, since the field has the focus.
   * @param {Item[]} next
   * @param {boolean=} redraw
   */
  function set(next, redraw = true) {
    drawn = redraw ? '' : JSON.stringify(next);
    form.put(path, next);
    if (redraw) draw();
  }

  function draw() {
    const next = items();
    const sign = JSON.stringify(next);
    if (sign === drawn) return;
    drawn = sign;
    rows.replaceChildren(...next.map((item, at) => el(
      'li',
      {},
      el(
        'div.row-fields',
        { role: 'group', 'aria-label': on.row(at + 1) },
        ...on.draw(item, (change, redraw) => put(at, change, redraw)),
      ),
      !form.locked && tools(field, at, next.length),
    )));
    rows.hidden = !next.length;
    add.hidden = next.length >= (on.max ?? ROWS_MAX) || !!form.locked;
  }

  /**
   * @param {number} at
   * @param {Partial<Item>} change
   * @param {boolean=} redraw
   */
  function put(at, change, redraw = false) {
    const next = [...items()];
    next[at] = typeof change === 'object' ? { ...next[at], ...change } : change;
    set(next, redraw);
  }

  const root = el(
    'fieldset.field',
    {},
    el('legend.label', {}, on.label),
    on.hint && el('p.hint', {}, on.hint),
    rows,
    el('div', {}, add),
    problem,
  );
  return form.bind(path, { root, control: null, problem, write: draw });
}

/**
 * The buttons that move and remove a row.
 * @template Item
 * @param {{on: ListOptions<Item>, rows: HTMLElement, add: HTMLElement, items: () => Item[],
 *   set: (next: Item[]) => void}} field
 * @param {number} at
 * @param {number} length
 */
function tools({ on, rows, add, items, set }, at, length) {
  const name = on.row(at + 1);
  /** @param {number} by */
  const move = (by) => () => {
    const next = [...items()];
    next.splice(at + by, 0, ...next.splice(at, 1));
    set(next);
    const row = rows.children[at + by];
    focusOn(row.querySelector(`[data-by="${by}"]:not([disabled])`) ?? row.querySelector('button'));
  };
  /** @type {(look: string, words: string, click: () => void, extra?: object) => HTMLElement} */
  const tool = (look, words, click, extra = {}) => el('button.icon-button', {
    type: 'button',
    'aria-label': words,
    title: words,
    click,
    ...extra,
  }, icon(look));
  const remove = () => {
    set(items().filter((_, index) => index !== at));
    const row = rows.children[Math.min(at, rows.children.length - 1)];
    focusOn(row?.querySelector('input') ?? add);
  };
  return el(
    'div.row-tools',
    {},
    !on.fixed && length > 1 && tool('up', t('Move {} up', name), move(-1), {
      disabled: at === 0,
      'data-by': -1,
    }),
    !on.fixed && length > 1 && tool('lower', t('Move {} down', name), move(1), {
      disabled: at === length - 1,
      'data-by': 1,
    }),
    tool('x', t('Remove {}', name), remove),
  );
}

/**
 * A text field of a row.
 * @param {string} label
 * @param {string | null | undefined} value
 * @param {(value: string) => void} on is called with each change
 * @param {{locked?: string, area?: boolean, [attribute: string]: unknown}} options and attributes
 */
export function cell(label, value, on, { locked = '', area = false, ...more } = {}) {
  const id = uid();
  const control = el(area ? 'textarea.input' : 'input.input', {
    id,
    dir: 'auto',
    autocomplete: 'off',
    disabled: !!locked,
    ...(area && { rows: 2 }),
    ...more,
    input: () => { on(control.value); },
  });
  control.value = value ?? '';
  return el('div.cell', {}, el('label.meta', { for: id }, label), control);
}

/**
 * A select field of a row.
 * @param {string} label
 * @param {string | null | undefined} value
 * @param {[value: string, words: string][]} options
 * @param {(value: string) => void} on is called with each change
 * @param {{locked?: string}} more
 */
export function pick(label, value, options, on, { locked = '' } = {}) {
  const id = uid();
  const control = el(
    'select.input',
    { id, disabled: !!locked, change: () => { on(control.value); } },
    ...options.map(([key, words]) => el('option', { value: key }, words)),
  );
  control.value = value ?? '';
  return el('div.cell', {}, el('label.meta', { for: id }, label), control);
}

/**
 * Any number of a set, as checkboxes. If none means all, the hint says so.
 * @param {Form} form
 * @param {string} path
 * @param {{label: string, hint?: string, options: [value: string, words: string][]}} on
 */
export function checks(form, path, { label, hint, options }) {
  const problem = el('p.error', { role: 'alert', hidden: true });
  /** @type {HTMLInputElement[]} */
  const boxes = options.map(() => el('input', {
    type: 'checkbox',
    disabled: !!form.locked,
    change: () => form.put(path, options.map(([each]) => each).filter(
      (_, at) => boxes[at].checked,
    )),
  }));
  const root = el(
    'fieldset.field',
    {},
    el('legend.label', {}, label),
    hint && el('p.hint', {}, hint),
    el('div.checks', {}, ...options.map(([, words], at) => el(
      'label',
      {},
      boxes[at],
      el('span', {}, words),
    ))),
    problem,
  );
  const write = () => {
    /** @type {string[]} */
    const chosen = form.get(path) ?? [];
    boxes.forEach((box, at) => { box.checked = chosen.includes(options[at][0]); });
  };
  return form.bind(path, { root, control: null, problem, write });
}
