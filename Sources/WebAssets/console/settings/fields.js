// The fields of settings: a label above, a hint or a refusal below, bound to a path of a form.

import { el } from '../../shared/dom.js';
import { uid } from './form.js';

/** @typedef {import('./form.js').Form} Form */

/**
 * Puts label, control, hint and room for a refusal together.
 * @param {any} form
 * @param {string} path
 * @param {{label: any, hint?: any, control: any, write: (value: any) => void, secret?: boolean,
 *   badge?: any}} of
 */
export function field(form, path, { label, hint, control, write, secret = false, badge = null }) {
  const id = control.id ||= uid();
  const told = hint && el('p.hint', { id: `${id}h` }, hint);
  const problem = el('p.error', { id: `${id}e`, role: 'alert', hidden: true });
  control.setAttribute('aria-describedby', [told && `${id}h`, `${id}e`].filter(Boolean).join(' '));
  control.disabled = !!form.locked;
  const root = el(
    'div.field',
    {},
    el('div.label-line', {}, el('label', { for: id }, label), badge),
    control,
    told,
    problem,
  );
  return form.bind(path, { root, control, problem, write, secret });
}

/**
 * One line or several of text.
 * @param {Form} form
 * @param {string} path
 * @param {{label: string, hint?: any, type?: string, area?: boolean, max?: number, empty?: any,
 *   placeholder?: string, secret?: boolean, code?: boolean, badge?: any, rows?: number,
 *   required?: boolean, autocomplete?: string,
 *   parse?: (text: string) => any, format?: (value: any) => string}} options `empty` stands for
 *   no text
 */
export function text(form, path, options) {
  const { area, empty = '', parse = (value) => value, format = (value) => value ?? '' } = options;
  const control = el(`${area ? 'textarea' : 'input'}.input${options.code ? '.mono' : ''}`, {
    type: area ? null : options.type ?? 'text',
    rows: area ? options.rows ?? 3 : null,
    maxlength: options.max,
    placeholder: options.placeholder,
    autocomplete: options.autocomplete ?? 'off',
    spellcheck: options.code ? 'false' : null,
    dir: options.code ? 'ltr' : 'auto',
    'aria-required': options.required ? 'true' : null,
    input: () => form.put(path, control.value === '' ? empty : parse(control.value)),
  });
  const write = (value) => {
    const shown = String(format(value));
    if (control.value !== shown) control.value = shown;
  };
  return field(form, path, { ...options, control, write });
}

/**
 * A whole number within bounds.
 * @param {any} form
 * @param {string} path
 * @param {{label: string, hint?: any, min?: number, max?: number, unit?: string}} on
 */
export function number(form, path, { label, hint, min = 0, max, unit }) {
  const control = el('input.input.short', {
    type: 'number',
    inputmode: 'numeric',
    min,
    max,
    step: 1,
    input: () => form.put(path, control.value === '' ? null : Number(control.value)),
  });
  const root = field(form, path, {
    label,
    hint,
    control,
    write: (value) => { control.value = value ?? ''; },
  });
  if (unit) {
    const line = el('span.unit-line');
    control.replaceWith(line);
    line.append(control, el('span.meta', {}, unit));
  }
  return root;
}

/**
 * @param {any} form
 * @param {string} path
 * @param {{label: string, hint?: any, options: any[][], empty?: any, badge?: any}} on `options` are
 *   values and words
 */
export function select(form, path, { label, hint, options, empty = undefined, badge = null }) {
  const control = el(
    'select.input',
    {
      change: () => {
        const [value] = options[control.selectedIndex];
        form.put(path, value === '' ? empty : value);
      },
    },
    ...options.map(([value, words]) => el('option', { value: String(value) }, words)),
  );
  const write = (value) => { control.value = String(value ?? ''); };
  return field(form, path, { label, hint, control, write, badge });
}

/**
 * Two to four ways, all of them seen.
 * @param {any} form
 * @param {string} path
 * @param {{label: string, options: any[][], hint?: any}} on `options` are values and words
 */
export function choice(form, path, { label, options, hint }) {
  const name = uid();
  const problem = el('p.error', { role: 'alert', hidden: true });
  const radios = options.map(([value]) => el('input.sr-only', {
    type: 'radio',
    name,
    disabled: !!form.locked,
    change: () => form.put(path, value),
  }));
  const root = el(
    'fieldset.field',
    {},
    el('legend.label', {}, label),
    el(
      'div.segments',
      {},
      ...options.map(([, words], at) => el('label', {}, radios[at], words)),
    ),
    hint && el('p.hint', {}, hint),
    problem,
  );
  const write = (value) => {
    const at = options.findIndex(([key]) => key === value);
    radios.forEach((radio, index) => { radio.checked = index === at; });
  };
  return form.bind(path, { root, control: null, problem, write });
}

/** On or off. */
export function toggle(form, path, { label, hint, read = (value) => value !== false }) {
  const control = el('input', {
    type: 'checkbox',
    role: 'switch',
    disabled: !!form.locked,
    change: () => form.put(path, control.checked),
  });
  const problem = el('p.error', { role: 'alert', hidden: true });
  const root = el(
    'div',
    {},
    el(
      'label.switch',
      {},
      el('span', {}, el('b', {}, label), hint && el('span.meta', {}, hint)),
      control,
    ),
    problem,
  );
  const write = (value) => { control.checked = read(value); };
  return form.bind(path, { root, control, problem, write });
}

/** A button that asks once more, in its own place. @param {() => any} act */
export function sure(words, question, act) {
  const first = el('button.button.quiet.risky', { type: 'button' }, words);
  const yes = el('button.button.danger', { type: 'button' }, words);
  const no = el('button.button.quiet', { type: 'button' }, 'Cancel');
  const asked = el('span.sure', { role: 'group', hidden: true }, el('span', {}, question), yes, no);
  const root = el('span.sure-place', {}, first, asked);
  const ask = (now) => {
    first.hidden = now;
    asked.hidden = !now;
    (now ? no : first).focus();
  };
  first.onclick = () => ask(true);
  no.onclick = () => ask(false);
  asked.onkeydown = (event) => {
    if (event.key === 'Escape') { event.stopPropagation(); ask(false); }
  };
  yes.onclick = async () => {
    yes.disabled = true;
    await act();
    yes.disabled = false;
    if (first.isConnected) ask(false);
  };
  return root;
}

/** A value that can be taken along. */
export function copyable(value, words) {
  const told = el('span.hint.ok', { role: 'status' });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof value === 'function' ? value() : value);
      told.textContent = 'Copied';
    } catch {
      told.textContent = 'Your browser blocked copying. Select the text and copy it.';
    }
    setTimeout(() => { told.textContent = ''; }, 4000);
  };
  return el(
    'div.copy',
    {},
    el('button.button', { type: 'button', click: copy }, words),
    told,
  );
}
