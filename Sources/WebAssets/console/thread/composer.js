// Reply or note, with canned replies and emoji. Drafts stay on this device, one of each kind for
// each conversation, until they are sent.

import { el, icon } from '../../shared/dom.js';
import { Kind } from '../../shared/protocol.js';
import { store } from '../../shared/store.js';
import { Canned, nextField } from './canned.js';
import { EmojiNames, EmojiPicker, isEmojiKey } from './emoji.js';

const LIMIT = 16_384; // bytes of a body
const draftKey = (id, kind) => `chirrup:console:draft:${id}${kind === Kind.note ? ':note' : ''}`;

/** @param {() => void} click */
const smileButton = (click) => el(
  'button.icon-button',
  {
    type: 'button',
    'aria-label': 'Emoji',
    'aria-haspopup': 'dialog',
    'aria-expanded': 'false',
    'aria-keyshortcuts': 'Control+.',
    title: 'Emoji (Ctrl .)',
    click,
  },
  icon('smile'),
);

const sendButton = () => el(
  'button.button.primary.send',
  { type: 'submit', 'aria-label': 'Send' },
  el('span', {}, 'Send'),
  el('kbd', {}, '⏎'),
  icon('up'),
);

/** @param {() => void} click */
const boltButton = (click) => el(
  'button.icon-button.bolt',
  {
    type: 'button',
    'aria-label': 'Canned replies',
    title: 'Canned replies',
    click,
  },
  icon('bolt'),
);

export class Composer {
  #on; #id = ''; #kind = Kind.text; #modes; #hint; #text; #send; #smile; #warned = '';

  /**
   * @param {{send: (body: string, kind: string, close: boolean) => boolean, typed: (text: string) =>
   *   void, values: () => Record<string, string>, settings: (shortcut: string) => void}} on
   */
  constructor(on) {
    this.#on = on;
    const mode = (kind, words) => el(
      'button',
      { type: 'button', 'data-kind': kind, click: () => { this.mode(kind); this.focus(); } },
      words,
    );
    this.#modes = [mode(Kind.text, 'Reply'), mode(Kind.note, 'Note')];
    this.#hint = el('span.meta', { role: 'status' });
    this.#text = el('textarea', {
      id: 'reply',
      rows: 2,
      dir: 'auto',
      'aria-autocomplete': 'list',
      input: () => this.#typed(),
      keydown: (event) => this.#key(event),
      focus: () => this.emoji.close(),
    });
    const active = (list, option) => {
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
      active,
    });
    this.names = new EmojiNames({ pick: (...change) => this.#put(...change), active });
    this.emoji = new EmojiPicker({
      pick: (emoji) => this.#put(emoji),
      focus: () => this.focus(),
      open: (open) => this.#smile.setAttribute('aria-expanded', String(open)),
    });
    this.#smile = smileButton(() => this.#toggleEmoji());
    this.#send = sendButton();
    this.root = el(
      'form.compose',
      { submit: (event) => { event.preventDefault(); this.#submit(false); } },
      el('div.modes', {}, ...this.#modes, el('span.grow'), this.#hint),
      el('label.sr-only', { for: 'reply' }, 'Message'),
      this.#text,
      el(
        'div.tools',
        {},
        boltButton(() => this.#browse()),
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
    // a note that was begun is more easily forgotten than a reply
    const note = store.get(draftKey(id, Kind.note));
    this.mode(note && !store.get(draftKey(id, Kind.text)) ? Kind.note : Kind.text);
  }

  /** Each kind has its own draft, so that a note never becomes a reply. */
  mode(kind) {
    this.#kind = kind;
    this.canned.close();
    this.names.close();
    for (const button of this.#modes) button.setAttribute('aria-pressed', String(
      button.dataset.kind === kind
    ));
    this.root.classList.toggle('noting', kind === Kind.note);
    this.#text.placeholder = kind === Kind.note
      ? 'Note for your team only'
      : 'Reply (/ for canned replies)';
    this.#text.value = store.get(draftKey(this.#id, kind)) ?? '';
    this.#said();
    this.#fit();
  }

  /** What was written while nobody was known yet is for them. @param {string} id */
  adopt(id) {
    for (const kind of [Kind.text, Kind.note]) {
      const words = store.get(draftKey(this.#id, kind));
      if (!words) continue;
      const begun = store.get(draftKey(id, kind));
      store.set(draftKey(id, kind), [begun, words].filter(Boolean).join('\n'));
      store.remove(draftKey(this.#id, kind));
    }
    this.#id = id;
    const begun = store.get(draftKey(id, this.#kind)) ?? '';
    // the field is not touched if nothing was there: somebody may be composing a letter in it
    if (this.#text.value !== begun) { this.#text.value = begun; this.#fit(); }
    this.#said();
  }

  /** What could not be sent stands before what was written since. */
  keep(id, words, kind) {
    const begun = store.get(draftKey(id, kind));
    store.set(draftKey(id, kind), [words, begun].filter(Boolean).join('\n'));
    if (id === this.#id) this.mode(kind);
  }

  get isEmpty() { return !this.#text.value; }

  /** As if it were sent once more. */
  again() { this.#submit(false); }

  focus() { this.#text.focus(); }
  blur() { this.#text.blur(); }

  /** Something to be written anew, before what already stands there. */
  write(words, kind) {
    this.mode(kind);
    this.#text.value = [words, this.#text.value].filter(Boolean).join('\n');
    this.#typed();
    this.focus();
  }

  #typed() {
    this.#fit();
    this.#warned = '';
    const { value } = this.#text;
    const key = draftKey(this.#id, this.#kind);
    if (value) store.set(key, value); else store.remove(key);
    this.#said();
    this.canned.typed(value);
    this.names.typed(value.slice(0, this.#text.selectionEnd));
    if (this.#kind === Kind.text) this.#on.typed(this.canned.isOpen ? '' : value);
  }

  #said() {
    const { value } = this.#text;
    const bytes = value.length > 4000 ? new TextEncoder().encode(value).length : 0;
    const other = store.get(draftKey(this.#id, this.#kind === Kind.note ? Kind.text : Kind.note));
    this.#hint.textContent = bytes > LIMIT
      ? `${bytes - LIMIT} bytes over the limit`
      : this.#warned
      || (value
        ? 'Draft saved on this device'
        : other
        ? this.#kind === Kind.note ? 'Reply draft saved' : 'Note draft saved'
        : '');
  }

  #key(event) {
    if (event.isComposing || this.canned.key(event) || this.names.key(event)) return;
    if (isEmojiKey(event)) { event.preventDefault(); return this.#toggleEmoji(); }
    if (event.key === 'Tab' && !event.shiftKey && this.#toField()) return event.preventDefault();
    if (event.key !== 'Enter' || event.shiftKey) return;
    event.preventDefault();
    this.#submit(event.ctrlKey || event.metaKey);
  }

  #submit(close) {
    const body = this.#text.value.trim();
    if (!body || new TextEncoder().encode(body).length > LIMIT) return;
    if (this.#kind === Kind.text && nextField(body, 0)) {
      this.#toField(0);
      this.#warned = 'Fill in the selected field first';
      return this.#said();
    }
    if (!this.#on.send(body, this.#kind, close)) return;
    this.#text.value = '';
    this.#typed();
    this.mode(Kind.text);
  }

  /** Chooses the next open field, if there is one. */
  #toField(from = this.#text.selectionEnd) {
    const field = nextField(this.#text.value, from);
    if (field) this.#text.setSelectionRange(...field);
    return !!field;
  }

  #pick(text) {
    this.#text.value = text;
    this.#typed();
    this.focus();
    if (!this.#toField(0)) this.#text.setSelectionRange(text.length, text.length);
  }

  /** As if it were typed, in place of what is selected. */
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
    this.#warned = 'Clear the reply to insert a canned one';
    this.#said();
  }

  #fit() {
    this.#text.style.height = 'auto';
    this.#text.style.height = `${Math.min(this.#text.scrollHeight, 200)}px`;
  }
}
