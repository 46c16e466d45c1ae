// A field that holds a list: rows that can be added, changed, moved and removed. The form sees the
// whole list as one value.

import { el, icon } from '../../shared/dom.js';
import { uid } from './form.js';

/**
 * @param {import('./form.js').Form} form
 * @param {string} path
 * @param {{label: string, hint?: any, add: string, blank: () => any, max?: number, row: string,
 *   fixed?: boolean, draw: (item: any, put: (change: any) => void, at: number) => any[]}} on
 *   `row` names one of them; `put` merges a change into its item; `fixed` means that order does
 *   not matter
 */
export function list(form, path, on) {
  const problem = el('p.error', { role: 'alert', hidden: true });
  const rows = el('ol.rows-field');
  const add = el('button.button', {
    type: 'button',
    disabled: !!form.locked,
    click: () => {
      set([...items(), on.blank()]);
      const fields = rows.lastElementChild?.querySelectorAll('input, textarea, select');
      /** @type {HTMLElement?} */ (fields?.[0])?.focus();
    },
  }, icon('plus', 'small'), on.add);
  let drawn = '';
  const items = () => form.get(path) ?? [];
  const field = { on, rows, add, items, set };

  /** A change inside a row does not draw it anew: somebody types in it. */
  function set(next, redraw = true) {
    drawn = redraw ? '' : JSON.stringify(next);
    form.put(path, next);
    if (redraw) write(next);
  }

  function write(value) {
    const next = value ?? [];
    const sign = JSON.stringify(next);
    if (sign === drawn) return;
    drawn = sign;
    rows.replaceChildren(...next.map((item, at) => el(
      'li',
      {},
      el(
        'div.row-fields',
        { role: 'group', 'aria-label': `${on.row} ${at + 1}` },
        ...on.draw(item, (change) => put(at, change), at),
      ),
      !form.locked && tools(field, at, next.length),
    )));
    rows.hidden = !next.length;
    add.hidden = next.length >= (on.max ?? 50) || !!form.locked;
  }

  function put(at, change) {
    const next = [...items()];
    const { redraw = false, ...rest } = change;
    next[at] = typeof next[at] === 'object' ? { ...next[at], ...rest } : change.value;
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
  return form.bind(path, { root, control: null, problem, write });
}

/**
 * What moves and removes a row.
 * @param {{on: any, rows: HTMLElement, add: HTMLElement, items: () => any[],
 *   set: (next: any[]) => void}} field
 * @param {number} at
 * @param {number} length
 */
function tools({ on, rows, add, items, set }, at, length) {
  const move = (by) => () => {
    const next = [...items()];
    next.splice(at + by, 0, ...next.splice(at, 1));
    set(next);
    const button = rows.children[at + by].querySelector(`[data-by="${by}"]:not([disabled])`)
      ?? rows.children[at + by].querySelector('button');
    /** @type {HTMLElement?} */ (button)?.focus();
  };
  const tool = (look, words, click, extra = {}) => el('button.icon-button', {
    type: 'button',
    'aria-label': `${words} ${on.row.toLowerCase()} ${at + 1}`,
    title: words,
    click,
    ...extra,
  }, icon(look));
  const remove = () => {
    set(items().filter((_, index) => index !== at));
    const next = rows.children[Math.min(at, rows.children.length - 1)]?.querySelector('input')
      ?? add;
    /** @type {HTMLElement} */ (next).focus();
  };
  return el(
    'div.row-tools',
    {},
    !on.fixed && length > 1 && tool('up', 'Move up', move(-1), {
      disabled: at === 0,
      'data-by': -1,
    }),
    !on.fixed && length > 1 && tool('lower', 'Move down', move(1), {
      disabled: at === length - 1,
      'data-by': 1,
    }),
    tool('x', 'Remove', remove),
  );
}

/**
 * One field of a row.
 * @param {string} label
 * @param {any} value
 * @param {(value: string) => void} on
 * @param {{locked?: string, area?: boolean, [attribute: string]: any}} how
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
    input: () => on(control.value),
  });
  control.value = value ?? '';
  return el('div.cell', {}, el('label.meta', { for: id }, label), control);
}

/**
 * One of a few.
 * @param {string} label
 * @param {any} value
 * @param {string[][]} options values and words
 * @param {(value: string) => void} on
 * @param {{locked?: string}} how
 */
export function pick(label, value, options, on, { locked = '' } = {}) {
  const id = uid();
  const control = el(
    'select.input',
    { id, disabled: !!locked, change: () => on(control.value) },
    ...options.map(([key, words]) => el('option', { value: key }, words)),
  );
  control.value = value ?? '';
  return el('div.cell', {}, el('label.meta', { for: id }, label), control);
}

/**
 * Several of a set. An empty list may mean all, which the hint says.
 * @param {import('./form.js').Form} form
 * @param {string} path
 * @param {{label: string, hint?: any, options: any[][]}} on
 */
export function checks(form, path, { label, hint, options }) {
  const problem = el('p.error', { role: 'alert', hidden: true });
  const boxes = options.map(() => el('input', {
    type: 'checkbox',
    disabled: !!form.locked,
    change: () => form.put(path, options.map(([each]) => each).filter(
      (each, at) => boxes[at].checked,
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
  const write = (value) => {
    boxes.forEach((box, at) => { box.checked = (value ?? []).includes(options[at][0]); });
  };
  return form.bind(path, { root, control: null, problem, write });
}
