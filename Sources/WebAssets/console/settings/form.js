// What one page of settings holds: the values as the gateway has them, the values as they stand in
// the fields, and which of them differ. What is not saved outlives the page and a reload, in
// sessionStorage, except what is secret.
// Invariant: a refusal stands under the field it is about, or in the bar if it is about none.

import { el, icon } from '../../shared/dom.js';
import { culprit, sentence } from '../shell/rest.js';

/** The gateway names the member; on a page it stands above. */
const MEMBER = /^The member “[^”]*” /;

let count = 0;
export const uid = () => `f${count += 1}`;

const read = (object, path) => path.split('.').reduce((value, key) => value?.[key], object);
const same = (one, other) => JSON.stringify(one ?? null) === JSON.stringify(other ?? null);

function write(object, path, value) {
  const keys = path.split('.');
  const last = keys.pop();
  let at = object;
  for (const key of keys) at = at[key] ??= {};
  at[last] = value;
}

/** @typedef {{write: (value: any) => void, root: HTMLElement, control: HTMLElement?,
 *   problem: HTMLElement?, secret?: boolean}} Binding */

export class Form {
  busy = false;
  /** The last refusal that is about no field, and whether the last save went well. */
  trouble = '';
  done = '';
  #fields = /** @type {Map<string, Binding>} */ (new Map());
  #heard = /** @type {(() => void)[]} */ ([]);
  #keep;

  /**
   * @param {any} saved
   * @param {{keep?: string, locked?: string}} options `keep` names it among what outlives the page;
   *   `locked` says why nothing can be changed
   */
  constructor(saved, { keep = '', locked = '' } = {}) {
    this.saved = structuredClone(saved);
    this.now = structuredClone(saved);
    this.locked = locked;
    this.#keep = keep && `chirrup:console:unsaved:${keep}`;
    if (!keep) return;
    try {
      for (const [path, value] of Object.entries(JSON.parse(sessionStorage.getItem(this.#keep)))) {
        write(this.now, path, value);
      }
    } catch { /* nothing is kept */ }
  }

  /** @param {() => void} act called after every change */
  heard(act) { this.#heard.push(act); }

  get(path) { return read(this.now, path); }

  put(path, value) {
    write(this.now, path, value);
    this.complain(path, '');
    this.done = this.trouble = '';
    this.changed();
  }

  /** @param {string} path @param {Binding} binding */
  bind(path, binding) {
    this.#fields.set(path, binding);
    binding.write(this.get(path));
    return binding.root;
  }

  /** The paths of the fields that differ from what is saved. */
  get changes() {
    return [...this.#fields.keys()].filter((path) => !same(this.get(path), read(this.saved, path)));
  }

  discard() {
    for (const path of this.changes) write(this.now, path, structuredClone(read(this.saved, path)));
    this.#show();
  }

  /** What the gateway has now. Fields that were changed meanwhile stay as they are. */
  accept(saved, keep = /** @type {string[]} */ ([])) {
    const mine = keep.map((path) => [path, this.get(path)]);
    this.saved = structuredClone(saved);
    this.now = structuredClone(saved);
    for (const [path, value] of mine) write(this.now, path, value);
    this.#show();
  }

  /** Saves by `act`, which answers what is saved then. @param {() => Promise<any>} act */
  async save(act, words = 'Saved') {
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

  /** Puts a refusal under its field. */
  fault(error) {
    if (!error.status && !(error instanceof TypeError)) console.warn('chirrup', error);
    const name = error.path ?? culprit(error);
    const path = name && this.#named(name);
    const words = error.words ?? sentence(error);
    if (path) {
      this.complain(path, words.replace(MEMBER, 'This '));
      const { control, root } = this.#fields.get(path);
      (control ?? root).focus();
    } else {
      this.trouble = words;
    }
    this.changed();
  }

  /** The field of `payload.buttons.2.label` is `payload.buttons`, that of `email` is `email`. */
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
    for (const act of this.#heard) act();
  }

  #remember() {
    const open = this.changes.filter((path) => !this.#fields.get(path).secret);
    try {
      if (open.length) {
        const values = open.map((path) => [path, this.get(path) ?? null]);
        sessionStorage.setItem(this.#keep, JSON.stringify(Object.fromEntries(values)));
      } else {
        sessionStorage.removeItem(this.#keep);
      }
    } catch { /* it lives as long as the page */ }
  }
}

/** A refusal of our own, before anything is sent. */
export const refusal = (path, words) => Object.assign(new Error(words), { status: 422, path, words,
  body: {} });

/** What is there already (412, see rest.js) is a refusal of one field; other errors stay. */
export const taken = (path, words) => (error) => {
  throw error.status === 412 ? refusal(path, words) : error;
};

const plural = (count) => count === 1 ? '1 unsaved change' : `${count} unsaved changes`;

/**
 * The bar at the end of a page or an editor.
 * @param {Form} form
 * @param {{save: () => Promise<any>, verb?: string, isNew?: boolean, more?: any[],
 *   cancel?: () => void}} on
 */
export function saveBar(form, { save, verb = 'Save', isNew = false, more = [], cancel }) {
  const words = el('p', { role: 'status' });
  const discard = el('button.button.quiet', { type: 'button' }, isNew ? 'Cancel' : 'Discard');
  const button = el('button.button.primary', { type: 'submit', title: 'Ctrl S' }, verb);
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
      : form.busy ? [null, 'Saving']
      : form.done && !length ? [icon('check', 'small'), form.done]
      : length && !isNew ? [el('span.dot.warn'), plural(length)]
      : [null, isNew ? '' : 'All changes saved'];
    if (words.textContent !== text) words.replaceChildren(...[look, el('span', {}, text)]
      .filter(Boolean));
  };
  form.heard(draw);
  queueMicrotask(draw); // the fields come after the bar, some with what was kept
  return { bar, submit: (event) => { event.preventDefault(); save(); } };
}
