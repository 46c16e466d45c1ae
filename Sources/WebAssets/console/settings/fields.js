// The fields of the settings: a label above, a hint or a refusal below. Each is bound to a path of
// a form.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { uid } from './form.js';

const STATUS_SHOWN = 4000; // ms

/** @typedef {import('./form.js').Form<unknown>} Form */

/**
 * Makes a field of a control.
 * @param {Form} form
 * @param {string} path
 * @param {{label: string, hint?: string, secret?: boolean, write: (value: unknown) => void,
 *   control: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement}} of `write` shows a value
 */
function field(form, path, { label, hint, control, write, secret = false }) {
  const id = control.id ||= uid();
  const help = hint && el('p.hint', { id: `${id}h` }, hint);
  const problem = el('p.error', { id: `${id}e`, role: 'alert', hidden: true });
  control.setAttribute('aria-describedby', [help && `${id}h`, `${id}e`].filter(Boolean).join(' '));
  control.disabled = !!form.locked;
  const root = el(
    'div.field',
    {},
    el('div.label-line', {}, el('label', { for: id }, label)),
    control,
    help,
    problem,
  );
  return form.bind(path, { root, control, problem, write, secret });
}

/**
 * Text in one line, or with `area` in several.
 * @param {Form} form
 * @param {string} path
 * @param {{label: string, hint?: string, type?: string, area?: boolean, max?: number, empty?: null,
 *   placeholder?: string, secret?: boolean, code?: boolean, rows?: number, required?: boolean,
 *   autocomplete?: string}} options `max` is in characters; `empty: null` makes an empty text null;
 *   `code` is for a monospaced font
 */
export function text(form, path, options) {
  const { area, empty = '' } = options;
  const control = el(`${area ? 'textarea' : 'input'}.input${options.code ? '.mono' : ''}`, {
    type: area ? null : options.type ?? 'text',
    rows: area ? options.rows ?? 3 : null,
    maxlength: options.max,
    placeholder: options.placeholder,
    autocomplete: options.autocomplete ?? 'off',
    spellcheck: options.code ? 'false' : null,
    dir: options.code ? 'ltr' : 'auto',
    'aria-required': options.required ? 'true' : null,
    input: () => { form.put(path, control.value || empty); },
  });
  /** @param {unknown} value */
  const write = (value) => {
    const shown = String(value ?? '');
    if (control.value !== shown) control.value = shown;
  };
  return field(form, path, { ...options, control, write });
}

/**
 * A whole number within bounds.
 * @param {Form} form
 * @param {string} path
 * @param {{label: string, hint?: string, min?: number, max?: number, unit?: string}} on
 */
export function number(form, path, { label, hint, min = 0, max, unit }) {
  const control = el('input.input.short', {
    type: 'number',
    inputmode: 'numeric',
    min,
    max,
    step: 1,
    input: () => { form.put(path, control.value === '' ? null : Number(control.value)); },
  });
  const root = field(form, path, {
    label,
    hint,
    control,
    write: (value) => { control.value = String(value ?? ''); },
  });
  if (unit) {
    const line = el('span.unit-line');
    control.replaceWith(line);
    line.append(control, el('span.meta', {}, unit));
  }
  return root;
}

/**
 * One of a list.
 * @param {Form} form
 * @param {string} path
 * @param {{label: string, hint?: string, options: [value: string, words: string][]}} on
 */
export function select(form, path, { label, hint, options }) {
  const control = el(
    'select.input',
    {
      change: () => { form.put(path, options[control.selectedIndex][0]); },
    },
    ...options.map(([value, words]) => el('option', { value }, words)),
  );
  /** @param {unknown} value */
  const write = (value) => { control.value = String(value ?? ''); };
  return field(form, path, { label, hint, control, write });
}

/**
 * One of two to four, all of them shown.
 * @param {Form} form
 * @param {string} path
 * @param {{label: string, options: [value: string | boolean, words: string][], hint?: string}} on
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
  /** @param {unknown} value */
  const write = (value) => {
    const at = options.findIndex(([key]) => key === value);
    radios.forEach((radio, index) => { radio.checked = index === at; });
  };
  return form.bind(path, { root, control: null, problem, write });
}

/**
 * A switch; only false is off.
 * @param {Form} form
 * @param {string} path
 * @param {{label: string, hint?: string}} on
 */
export function toggle(form, path, { label, hint }) {
  const control = el('input', {
    type: 'checkbox',
    role: 'switch',
    disabled: !!form.locked,
    change: () => { form.put(path, control.checked); },
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
  /** @param {unknown} value */
  const write = (value) => { control.checked = value !== false; };
  return form.bind(path, { root, control, problem, write });
}

/**
 * A button that asks for a confirmation in its own place.
 * @param {string} words
 * @param {string} question
 * @param {() => unknown} act
 */
export function confirmed(words, question, act) {
  const first = el('button.button.quiet.risky', { type: 'button' }, words);
  const yes = el('button.button.danger', { type: 'button' }, words);
  const no = el('button.button.quiet', { type: 'button' }, t('Cancel'));
  const asked = el('span.sure', { role: 'group', hidden: true }, el('span', {}, question), yes, no);
  const root = el('span.sure-place', {}, first, asked);
  /** @param {boolean} isAsking */
  const ask = (isAsking) => {
    first.hidden = isAsking;
    asked.hidden = !isAsking;
    (isAsking ? no : first).focus();
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

/**
 * A button that copies a text.
 * @param {string} text
 * @param {string} words
 */
export function copyable(text, words) {
  const status = el('span.hint.ok', { role: 'status' });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      status.textContent = t('Copied');
    } catch {
      status.textContent = t('Your browser blocked copying. Select the text and copy it.');
    }
    setTimeout(() => { status.textContent = ''; }, STATUS_SHOWN);
  };
  return el(
    'div.copy',
    {},
    el('button.button', { type: 'button', click: copy }, words),
    status,
  );
}
