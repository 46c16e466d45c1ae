// The field for replies and notes, with canned replies and emoji. Drafts stay on this device until
// they are sent: one reply and one note for each conversation.

import { el, icon } from '../../shared/dom.js';
import { Kind } from '../../shared/protocol.js';
import { store } from '../../shared/store.js';
import { t } from '../shell/language.js';
import { Canned, nextField } from './canned.js';
import { EmojiNames, EmojiPicker, isEmojiKey } from './emoji.js';

const BODY_MAX = 16_384; // bytes (`limits.body_bytes`)
const HEIGHT_MAX = 200; // px; a longer text scrolls

/**
 * @param {string} id of the conversation
 * @param {string} kind
 */
const draftKey = (id, kind) => `chirrup:console:draft:${id}${kind === Kind.note ? ':note' : ''}`;

/**
 * @param {string} id
 * @param {string} kind
 * @returns {string?}
 */
const draft = (id, kind) => store.get(draftKey(id, kind));

/** @param {string} text */
const bytesOf = (text) => new TextEncoder().encode(text).length;

/** @param {() => void} click */
const smileButton = (click) => el(
  'button.icon-button',
  {
    type: 'button',
    'aria-label': t('Emoji'),
    'aria-haspopup': 'dialog',
    'aria-expanded': 'false',
    'aria-keyshortcuts': 'Control+.',
    title: t('Emoji (Ctrl .)'),
    click,
  },
  icon('smile'),
);

const sendButton = () => el(
  'button.button.primary.send',
  { type: 'submit', 'aria-label': t('Send') },
  el('span', {}, t('Send')),
  el('kbd', {}, '⏎'),
  icon('up'),
);

/**
 * @param {string} look of its icon, and a class
 * @param {string} words
 * @param {() => void} click
 */
const tool = (look, words, click) => el(
  `button.icon-button.${look}`,
  { type: 'button', 'aria-label': words, title: words, click },
  icon(look),
);

export class Composer {
  #on;
  #id = '';
  /** @type {string} */
  #kind = Kind.text;
  #modes;
  #hint;
  /** @type {HTMLTextAreaElement} */
  #text;
  #send;
  #smile;
  #warning = '';
  #files = el('input', {
    type: 'file',
    multiple: true,
    hidden: true,
    change: () => {
      this.#on.attach([...this.#files.files ?? []]);
      this.#files.value = '';
    },
  });
  #clip = tool('clip', t('Attach files'), () => this.#files.click());

  /**
   * @param {{send: (body: string, kind: string, close: boolean) => boolean,
   *   typed: (text: string) => void, values: () => Record<string, string>,
   *   settings: (shortcut: string) => void, run: (macro: Macro) => void,
   *   attach: (files: File[]) => void, hasFiles: () => boolean}} on
   *   `send` returns whether the text was taken
   */
  constructor(on) {
    this.#on = on;
    /** @type {(kind: string, words: string) => HTMLButtonElement} */
    const mode = (kind, words) => el(
      'button',
      { type: 'button', 'data-kind': kind, click: () => { this.mode(kind); this.focus(); } },
      words,
    );
    this.#modes = [mode(Kind.text, t('Reply')), mode(Kind.note, t('Note'))];
    this.#hint = el('span.meta', { role: 'status' });
    this.#text = el('textarea', {
      id: 'reply',
      rows: 2,
      dir: 'auto',
      'aria-autocomplete': 'list',
      input: () => this.#typed(),
      keydown: (event) => this.#key(event),
      focus: () => { this.emoji.close(); },
    });
    /** @type {(list: string, option: string) => void} */
    const active = (list, option) => {
      /** @type {(name: string, value: string) => void} */
      const set = (name, value) => (
        value ? this.#text.setAttribute(name, value) : this.#text.removeAttribute(name)
      );
      set('aria-controls', list);
      set('aria-activedescendant', option);
    };
    this.canned = new Canned({
      pick: (text) => this.#pick(text),
      values: on.values,
      write: on.settings,
      run: (macro) => { this.#text.value = ''; this.#typed(); on.run(macro); },
      active,
    });
    this.names = new EmojiNames({
      pick: (emoji, from, to) => { this.#put(emoji, from, to); },
      active,
    });
    const smile = smileButton(() => this.#toggleEmoji());
    this.#smile = smile;
    this.emoji = new EmojiPicker({
      pick: (emoji) => this.#put(emoji),
      focus: () => this.focus(),
      opened: (isOpen) => smile.setAttribute('aria-expanded', String(isOpen)),
    });
    this.#send = sendButton();
    this.root = el(
      'form.compose',
      { submit: (event) => { event.preventDefault(); this.#submit(false); } },
      el('div.modes', {}, ...this.#modes, el('span.grow'), this.#hint),
      el('label.sr-only', { for: 'reply' }, t('Message')),
      this.#text,
      el(
        'div.tools',
        {},
        this.#files,
        this.#clip,
        tool('bolt', t('Canned replies'), () => this.#browse()),
        this.#smile,
        el('span.grow'),
        this.#send,
      ),
    );
    this.mode(Kind.text);
  }

  get isFocused() { return document.activeElement === this.#text; }

  /** @param {string} id of the conversation */
  show(id) {
    if (id === this.#id) return;
    this.#id = id;
    this.emoji.close();
    // the draft of a note opens the note, unless there is one of a reply too
    this.mode(draft(id, Kind.note) && !draft(id, Kind.text) ? Kind.note : Kind.text);
  }

  /**
   * Changes between reply and note. Each has its own draft, so a note never becomes a reply.
   * @param {string} kind
   */
  mode(kind) {
    this.#kind = kind;
    this.canned.close();
    this.names.close();
    for (const button of this.#modes) button.setAttribute('aria-pressed', String(
      button.dataset.kind === kind
    ));
    this.#clip.hidden = kind === Kind.note;
    this.root.classList.toggle('noting', kind === Kind.note);
    this.#text.placeholder = kind === Kind.note
      ? t('Note for your team only')
      : t('Reply (/ for canned replies)');
    this.#text.value = draft(this.#id, kind) ?? '';
    this.#updateHint();
    this.#fit();
  }

  /**
   * Moves the drafts to a conversation that is known only now.
   * @param {string} id
   */
  adopt(id) {
    for (const kind of [Kind.text, Kind.note]) {
      const words = draft(this.#id, kind);
      if (!words) continue;
      store.set(draftKey(id, kind), [draft(id, kind), words].filter(Boolean).join('\n'));
      store.remove(draftKey(this.#id, kind));
    }
    this.#id = id;
    const value = draft(id, this.#kind) ?? '';
    // an unchanged field is not written: an input method may be composing in it
    if (this.#text.value !== value) { this.#text.value = value; this.#fit(); }
    this.#updateHint();
  }

  /**
   * Puts a text that could not be sent before the draft.
   * @param {string} id
   * @param {string} words
   * @param {string} kind
   */
  keep(id, words, kind) {
    store.set(draftKey(id, kind), [words, draft(id, kind)].filter(Boolean).join('\n'));
    if (id === this.#id) this.mode(kind);
  }

  get isNote() { return this.#kind === Kind.note; }

  get isEmpty() { return !this.#text.value; }

  /** Sends the text in the field, after a confirmation. */
  again() { this.#submit(false); }

  focus() { this.#text.focus(); }
  blur() { this.#text.blur(); }

  /**
   * Puts a text that is to be changed before the text in the field.
   * @param {string} words
   * @param {string} kind
   */
  write(words, kind) {
    this.mode(kind);
    this.#text.value = [words, this.#text.value].filter(Boolean).join('\n');
    this.#typed();
    this.focus();
  }

  #typed() {
    this.#fit();
    this.#warning = '';
    const { value } = this.#text;
    const key = draftKey(this.#id, this.#kind);
    if (value) store.set(key, value); else store.remove(key);
    this.#updateHint();
    this.canned.typed(value);
    this.names.typed(value.slice(0, this.#text.selectionEnd));
    if (this.#kind === Kind.text) this.#on.typed(this.canned.isOpen ? '' : value);
  }

  #updateHint() {
    const { value } = this.#text;
    const bytes = value.length > BODY_MAX / 4 ? bytesOf(value) : 0;
    const other = draft(this.#id, this.#kind === Kind.note ? Kind.text : Kind.note);
    this.#hint.textContent = bytes > BODY_MAX
      ? t('{} bytes over the limit', bytes - BODY_MAX)
      : this.#warning
      || (value
        ? t('Draft saved on this device')
        : other
        ? this.#kind === Kind.note ? t('Reply draft saved') : t('Note draft saved')
        : '');
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.isComposing || this.canned.key(event) || this.names.key(event)) return;
    if (isEmojiKey(event)) { event.preventDefault(); return this.#toggleEmoji(); }
    if (event.key === 'Tab' && !event.shiftKey && this.#toField()) return event.preventDefault();
    if (event.key !== 'Enter' || event.shiftKey) return;
    event.preventDefault();
    this.#submit(event.ctrlKey || event.metaKey);
  }

  /** @param {boolean} close whether to close the conversation afterwards */
  #submit(close) {
    const body = this.#text.value.trim();
    const hasFiles = this.#kind === Kind.text && this.#on.hasFiles();
    if (!body && !hasFiles || bytesOf(body) > BODY_MAX) return;
    if (this.#kind === Kind.text && nextField(body, 0)) {
      this.#toField(0);
      this.#warning = t('Fill in the selected field first');
      return this.#updateHint();
    }
    if (!this.#on.send(body, this.#kind, close)) return;
    this.#text.value = '';
    this.#typed();
    this.mode(Kind.text);
  }

  /** Selects the next open field; returns whether there is one. */
  #toField(from = this.#text.selectionEnd) {
    const field = nextField(this.#text.value, from);
    if (field) this.#text.setSelectionRange(...field);
    return !!field;
  }

  /** @param {string} text of a canned reply */
  #pick(text) {
    this.#text.value = text;
    this.#typed();
    this.focus();
    if (!this.#toField(0)) this.#text.setSelectionRange(text.length, text.length);
  }

  /**
   * Replaces a range, or the selection, as if the words were typed.
   * @param {string} words
   */
  #put(words, from = this.#text.selectionStart, to = this.#text.selectionEnd) {
    this.#text.setRangeText(words, from, to, 'end');
    this.#typed();
    this.focus();
  }

  #toggleEmoji() {
    if (this.emoji.isOpen) return this.emoji.close();
    this.canned.close();
    this.names.close();
    this.emoji.open();
  }

  #browse() {
    this.focus();
    if (this.canned.isOpen) return this.canned.close();
    if (!this.#text.value) { this.#text.value = '/'; return this.#typed(); }
    this.#warning = t('Clear the reply to insert a canned one');
    this.#updateHint();
  }

  #fit() {
    this.#text.style.height = 'auto';
    this.#text.style.height = `${Math.min(this.#text.scrollHeight, HEIGHT_MAX)}px`;
  }
}
