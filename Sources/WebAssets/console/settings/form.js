// The state of one form of the settings: the saved values, the values in the fields, and which of
// them differ. Unsaved changes survive a reload in sessionStorage, except secrets.
// Invariant: a refusal is shown below the field that it is about, or in the bar if about none.

import { el, icon } from '../../shared/dom.js';
import { language, t } from '../shell/language.js';
import { Problem } from '../shell/api.js';
import { member, sentence } from '../shell/rest.js';

let count = 0;
/** An id for a field. */
export const uid = () => `f${count += 1}`;

/** @typedef {Record<string, unknown>} Members */

/**
 * The value at a path like `queue.capacity`.
 * @param {unknown} object
 * @param {string} path
 */
const read = (object, path) => path.split('.').reduce(
  (value, key) => /** @type {Members | null | undefined} */ (value)?.[key],
  object,
);

/**
 * @param {unknown} one
 * @param {unknown} other
 */
const same = (one, other) => JSON.stringify(one ?? null) === JSON.stringify(other ?? null);

/**
 * @param {unknown} object
 * @param {string} path
 * @param {unknown} value
 */
function write(object, path, value) {
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  let at = /** @type {Members} */ (object);
  for (const key of keys) at = /** @type {Members} */ (at[key] ??= {});
  at[last] = value;
}

/**
 * A field: `write` shows a value, `control` gets the focus, `problem` shows a refusal. A `secret`
 * value is not stored.
 * @typedef {{write: (value: unknown) => void, root: HTMLElement, control: HTMLElement?,
 *   problem: HTMLElement?, secret?: boolean}} Binding
 */

/** A refusal by the page itself, before a request. */
class Refusal extends Error {
  /**
   * @param {string} path of the field
   * @param {string} words
   */
  constructor(path, words) {
    super(words);
    this.path = path;
  }
}

/**
 * @param {string} path
 * @param {string} words
 */
export const refusal = (path, words) => new Refusal(path, words);

/**
 * Turns the refusal of a `put` with `isNew` (412, the object exists) into one of a field.
 * @param {string} path
 * @param {string} words
 * @returns {(error: unknown) => never}
 */
export const taken = (path, words) => (error) => {
  throw error instanceof Problem && error.status === 412 ? refusal(path, words) : error;
};

/** @template Values of the fields */
export class Form {
  busy = false;
  /** The last refusal that is about no field. */
  trouble = '';
  /** The words after a save that succeeded. */
  done = '';
  /** @type {Map<string, Binding>} */
  #fields = new Map();
  /** @type {(() => void)[]} */
  #listeners = [];
  #keep;

  /**
   * @param {Values} saved
   * @param {{keep?: string, locked?: string}} options `keep` is the key under which changes are
   *   stored; `locked` is the reason why nothing can be changed
   */
  constructor(saved, { keep = '', locked = '' } = {}) {
    /** @type {Values} */
    this.saved = structuredClone(saved);
    /** @type {Values} */
    this.now = structuredClone(saved);
    this.locked = locked;
    this.#keep = keep && `chirrup:console:unsaved:${keep}`;
    if (!keep) return;
    try {
      const stored = JSON.parse(sessionStorage.getItem(this.#keep) ?? '{}');
      for (const [path, value] of Object.entries(stored)) {
        write(this.now, path, value);
      }
    } catch { /* blocked, or of another version */ }
  }

  /** @param {() => void} act is called after each change */
  onChange(act) { this.#listeners.push(act); }

  /**
   * The value at a path; the caller knows its type.
   * @template Value
   * @param {string} path
   * @returns {Value}
   */
  get(path) { return /** @type {Value} */ (read(this.now, path)); }

  /**
   * @param {string} path
   * @param {unknown} value
   */
  put(path, value) {
    write(this.now, path, value);
    this.complain(path, '');
    this.done = this.trouble = '';
    this.changed();
  }

  /**
   * Adds a field; returns its root.
   * @param {string} path
   * @param {Binding} binding
   */
  bind(path, binding) {
    this.#fields.set(path, binding);
    binding.write(this.get(path));
    return binding.root;
  }

  /** The paths of the fields that differ from the saved values. */
  get changes() {
    return [...this.#fields.keys()].filter((path) => !same(this.get(path), read(this.saved, path)));
  }

  discard() {
    for (const path of this.changes) write(this.now, path, structuredClone(read(this.saved, path)));
    this.#show();
  }

  /**
   * Takes the values that the gateway has now.
   * @param {Values} saved
   * @param {string[]} keep paths of fields that were changed meanwhile, which stay as they are
   */
  accept(saved, keep = []) {
    const mine = keep.map((path) => ({ path, value: this.get(path) }));
    this.saved = structuredClone(saved);
    this.now = structuredClone(saved);
    for (const { path, value } of mine) write(this.now, path, value);
    this.#show();
  }

  /**
   * Saves; returns whether it succeeded.
   * @param {() => Promise<Values | undefined>} act makes the request, and returns the saved values
   *   if they differ from the fields
   * @param {string=} words after a success
   */
  async save(act, words = t('Saved')) {
    if (this.busy) return false;
    for (const path of this.#fields.keys()) this.complain(path, '');
    this.busy = true;
    this.trouble = this.done = '';
    this.changed();
    try {
      const sent = structuredClone(this.now);
      const saved = await act();
      const later = this.changes.filter((path) => !same(this.get(path), read(sent, path)));
      this.busy = false;
      this.done = words;
      this.accept(saved ?? sent, later);
      return true;
    } catch (error) {
      this.busy = false;
      this.fault(error);
      return false;
    }
  }

  /**
   * Shows a refusal.
   * @param {unknown} error
   */
  fault(error) {
    const isKnown = error instanceof Problem || error instanceof Refusal;
    if (!isKnown && !(error instanceof TypeError)) console.warn('chirrup', error);
    const name = isKnown && (error.path ?? (error instanceof Problem && member(error)));
    const path = name && this.#named(name);
    const field = path && this.#fields.get(path);
    const words = error instanceof Refusal ? error.message : sentence(error);
    if (field) {
      // The label names the field already. The reason is in English, as the API has it.
      const reason = error instanceof Problem && error.body.reason;
      this.complain(path, reason && language === 'en' ? `This ${reason}` : words);
      (field.control ?? field.root).focus();
    } else {
      this.trouble = words;
    }
    this.changed();
  }

  /**
   * The path of the field for a member: `payload.buttons` for `payload.buttons.2.label`.
   * @param {string} name
   */
  #named(name) {
    const paths = [...this.#fields.keys()];
    const parts = name.split('.');
    for (let length = parts.length; length > 0; length -= 1) {
      const known = parts.slice(0, length).join('.');
      const found = paths.find((path) => path === known || known.endsWith(`.${path}`)
        || path.endsWith(`.${known}`));
      if (found) return found;
    }
    return paths.find((path) => path.split('.').at(-1) === parts.at(-1));
  }

  /**
   * Shows a refusal below a field.
   * @param {string} path
   * @param {string} words '' for none
   */
  complain(path, words) {
    const binding = this.#fields.get(path);
    if (!binding?.problem) return;
    binding.problem.hidden = !words;
    binding.problem.replaceChildren(...(words ? [icon('alert', 'small'), el('span', {}, words)]
      : []));
    if (binding.control) {
      if (words) binding.control.setAttribute('aria-invalid', 'true');
      else binding.control.removeAttribute('aria-invalid');
    }
  }

  #show() {
    for (const [path, { write: show }] of this.#fields) show(this.get(path));
    this.changed();
  }

  changed() {
    if (this.#keep) this.#remember();
    for (const act of this.#listeners) act();
  }

  #remember() {
    const open = this.changes.filter((path) => !this.#fields.get(path)?.secret);
    try {
      if (open.length) {
        const values = open.map((path) => [path, this.get(path) ?? null]);
        sessionStorage.setItem(this.#keep, JSON.stringify(Object.fromEntries(values)));
      } else {
        sessionStorage.removeItem(this.#keep);
      }
    } catch { /* blocked: the changes live as long as the page */ }
  }
}

/** @param {number} count */
const plural = (count) => (
  count === 1 ? t('1 unsaved change') : t('{} unsaved changes', count));

/**
 * The bar at the end of a form: state, discard, save.
 * @param {Form<unknown>} form
 * @param {{save: () => Promise<unknown>, verb?: string, isNew?: boolean, more?: Node[],
 *   cancel?: () => void}} on `more` are further buttons
 */
export function saveBar(form, { save, verb = t('Save'), isNew = false, more = [], cancel }) {
  const words = el('p', { role: 'status' });
  const discard = el('button.button.quiet', { type: 'button' }, isNew ? t('Cancel') : t('Discard'));
  const button = el('button.button.primary', { type: 'submit', title: t('Ctrl S') }, verb);
  const bar = el('div.save', {}, words, ...more, discard, button);
  discard.onclick = () => { form.discard(); if (isNew) cancel?.(); };
  const draw = () => {
    const { length } = form.changes;
    const dirty = length > 0 || isNew;
    bar.classList.toggle('idle', !dirty && !form.trouble && !form.done);
    discard.hidden = !dirty || !!form.locked;
    button.hidden = !!form.locked;
    button.disabled = !dirty && !form.busy;
    button.setAttribute('aria-disabled', String(form.busy));
    button.classList.toggle('busy', form.busy);
    words.classList.toggle('trouble', !!form.trouble);
    const [look, text] = form.locked ? [icon('lock', 'small'), form.locked]
      : form.trouble ? [icon('alert', 'small'), form.trouble]
      : form.busy ? [null, t('Saving')]
      : form.done && !length ? [icon('check', 'small'), form.done]
      : length && !isNew ? [el('span.dot.warn'), plural(length)]
      : [null, isNew ? '' : t('All changes saved')];
    if (words.textContent !== text) {
      words.replaceChildren(...[look, el('span', {}, text)].filter(Boolean));
    }
  };
  form.onChange(draw);
  queueMicrotask(draw); // after the fields are bound, some of them with stored changes
  /** @param {Event} event */
  const submit = (event) => { event.preventDefault(); save(); };
  return { bar, submit };
}
