// The dialog that merges another visitor into this one: a search for the other one, a preview of
// what will hold, and the confirmation. A merge cannot be undone.

import { el } from '../../shared/dom.js';
import { api, reasonOf } from '../shell/api.js';
import { focusOn } from '../shell/element.js';
import { locale, pieces, t } from '../shell/language.js';
import { generatedName } from './visitor-name.js';

const WAIT = 200; // ms without a key, until the search is asked
const day = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' });

/** @param {VisitorProfile} visitor */
const nameOf = (visitor) => visitor.name || generatedName(visitor.id);

/** @param {number} count */
const conversations = (count) => (
  count === 1 ? t('1 conversation') : t('{} conversations', count));

/**
 * What tells a visitor from others of the same name.
 * @param {VisitorProfile} visitor
 */
const marks = ({ email, external_id: external, last_seen_at: seen, conversations: count }) => [
  email,
  external,
  conversations(count),
  seen && t('last here {}', day.format(new Date(seen))),
].filter(Boolean).join(', ');

/** @param {unknown} value of an attribute */
const text = (value) => String(value);

export class MergeDialog {
  #visitor;
  #on;
  #timer = 0;
  /** Requests have a number: an answer that a later one has overtaken is dropped. */
  #turn = 0;
  #body = el('div');
  #status = el('p.meta', { role: 'status' });

  /**
   * @param {{id: string, name: string}} visitor
   * @param {{merged: () => void, closed: () => void}} on
   */
  constructor(visitor, on) {
    this.#visitor = visitor;
    this.#on = on;
    this.root = el(
      'dialog.pop.merge',
      {
        'aria-label': t('Merge visitors'),
        close: () => {
          clearTimeout(this.#timer);
          this.#turn += 1;
          this.root.remove();
          on.closed();
        },
      },
      el('h3', {}, t('Merge visitors')),
      this.#body,
      this.#status,
    );
  }

  open() {
    document.body.append(this.root);
    this.root.showModal();
    this.#search();
  }

  // MARK: the search

  #search() {
    const list = el('ul.found', { 'aria-label': t('Visitors') });
    const field = el('input.input', {
      type: 'text',
      id: 'merge-with',
      maxlength: 200,
      autocomplete: 'off',
      dir: 'auto',
      input: () => {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => { void this.#ask(field.value.trim(), list); }, WAIT);
      },
    });
    this.#turn += 1;
    this.#body.replaceChildren(
      el('label.label', { for: 'merge-with' },
        t('Who is the same person as {}? Enter a name, an email address or an id.', this.#visitor.name)),
      field,
      list,
      el('div.ways', {}, this.#button(t('Cancel'), '.quiet', () => this.root.close())),
    );
    this.#status.textContent = '';
    field.focus();
  }

  /**
   * @param {string} words
   * @param {HTMLElement} list
   */
  async #ask(words, list) {
    const turn = ++this.#turn;
    list.replaceChildren();
    this.#status.textContent = words && t('Searching…');
    if (!words) return;
    try {
      const { visitors } = await api.findVisitors(words, this.#visitor.id);
      if (turn !== this.#turn) return;
      this.#status.textContent = visitors.length ? '' : t('No other visitor found.');
      list.replaceChildren(...visitors.map((visitor) => el(
        'li',
        {},
        el(
          'button',
          { type: 'button', click: () => { void this.#preview(visitor.id); } },
          el('b.truncate', { dir: 'auto' }, nameOf(visitor)),
          el('span.meta.truncate', {}, marks(visitor)),
        ),
      )));
    } catch (error) {
      if (turn !== this.#turn) return;
      this.#status.textContent = reasonOf(error, t('The server is not responding. Try again.'));
    }
  }

  // MARK: the preview

  /** @param {string} other */
  async #preview(other) {
    const turn = ++this.#turn;
    this.#status.textContent = t('Loading the preview…');
    try {
      const preview = await api.previewMerge(this.#visitor.id, other);
      if (turn !== this.#turn) return;
      this.#status.textContent = '';
      this.#show(preview, other);
    } catch (error) {
      if (turn !== this.#turn) return;
      this.#status.textContent = reasonOf(error, t('The server is not responding. Try again.'));
    }
  }

  /**
   * @param {MergePreview} preview
   * @param {string} id of the other one
   */
  #show({ visitor, other, attributes }, id) {
    if (!other) return this.#done();
    const lost = Object.entries(other.attributes).filter(([name, value]) => (
      !(name in attributes) || text(attributes[name]) !== text(value)
    ));
    const isBlocked = visitor.banned_at || other.banned_at;
    const form = el(
      'form',
      { submit: (event) => { event.preventDefault(); void this.#confirm(form, id); } },
      el('p', {}, ...pieces('The conversations, ratings and events of {1} ({2}) go to {3} ({4}).',
        el('b', { dir: 'auto' }, nameOf(other)), marks(other),
        el('b', { dir: 'auto' }, nameOf(visitor)), marks(visitor))),
      el(
        'dl.facts',
        {},
        ...this.#field(t('Name'), 'name', visitor.name, other.name),
        ...this.#field(t('Email'), 'email', visitor.email ?? '', other.email ?? ''),
        ...this.#row(t('Identity'), visitor.is_identified ? t('Verified by your site')
          : visitor.external_id ? t('Not verified') : t('None')),
        ...this.#row(t('Conversations'), conversations(visitor.conversations + other.conversations)),
        ...Object.entries(attributes).flatMap(([name, value]) => this.#row(name, text(value))),
        ...isBlocked ? this.#row(t('Blocked'), visitor.banned_at && other.banned_at ? t('Both are')
          : t('Yes: one of them is, so both will be')) : [],
      ),
      lost.length > 0 && el('p.lost', {}, t('Not kept: {}.',
        lost.map(([name, value]) => `${name} ${text(value)}`).join(', '))),
      el('p.meta', {}, t('Each browser continues its own conversations only. Merged visitors cannot be separated.')),
      el(
        'div.ways',
        {},
        el('button.button.primary', { type: 'submit' }, t('Merge')),
        this.#button(t('Back'), '', () => this.#search()),
        this.#button(t('Cancel'), '.quiet', () => this.root.close()),
      ),
    );
    this.#body.replaceChildren(form);
    focusOn(form.querySelector('input, button'));
  }

  /**
   * A field of which the operator chooses the value, if both have one.
   * @param {string} words
   * @param {'name' | 'email'} field
   * @param {string} own
   * @param {string} others
   */
  #field(words, field, own, others) {
    if (!own || !others || own === others) return this.#row(words, own || others || t('None'));
    /** @param {string} value @param {boolean} isOthers */
    const choice = (value, isOthers) => el('label', {},
      el('input', {
        type: 'radio', name: field, value: isOthers ? 'other' : 'own', checked: !isOthers,
      }),
      el('span.truncate', { dir: 'auto' }, value));
    return [
      el('dt', {}, words),
      el('dd', {}, el('div', { role: 'radiogroup', 'aria-label': words },
        choice(own, false), choice(others, true))),
    ];
  }

  /** @param {string} words @param {string} value */
  #row(words, value) {
    return [
      el('dt.truncate', { dir: 'auto', title: words }, words),
      el('dd.truncate', { dir: 'auto', title: value }, value),
    ];
  }

  /** @param {HTMLFormElement} form @param {string} other */
  async #confirm(form, other) {
    const given = new FormData(form);
    const take = ['name', 'email'].filter((field) => given.get(field) === 'other');
    const button = form.querySelector('button');
    if (button) button.disabled = true;
    this.#status.textContent = t('Merging…');
    try {
      await api.merge(this.#visitor.id, other, take);
      this.#done();
    } catch (error) {
      if (button) button.disabled = false;
      this.#status.textContent = reasonOf(error,
        t('The server is not responding. Merge once more: nothing is merged twice.'));
    }
  }

  #done() {
    this.root.close();
    this.#on.merged();
  }

  /**
   * @param {string} words
   * @param {string} kind classes
   * @param {() => void} click
   */
  #button(words, kind, click) {
    return el(`button.button${kind}`, { type: 'button', click }, words);
  }
}
