// Reply or note. Drafts stay on this device, one for each conversation.

import { el, icon } from '../shared/dom.js';
import { Kind } from '../shared/protocol.js';
import { store } from '../shared/store.js';

const LIMIT = 16_384; // bytes of a body
const draftKey = (id) => `chirrup:console:draft:${id}`;

export class Composer {
  #on; #id = ''; #kind = Kind.text; #modes; #hint; #text;

  /**
   * @param {{send: (body: string, kind: string, close: boolean) => boolean, typed: (text: string) =>
   *   void}} on
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
      input: () => this.#typed(),
      keydown: (event) => this.#key(event),
    });
    this.root = el(
      'form.compose',
      { submit: (event) => { event.preventDefault(); this.#send(false); } },
      el('div.modes', {}, ...this.#modes, el('span.grow'), this.#hint),
      el('label.sr-only', { for: 'reply' }, 'Message'),
      this.#text,
      el(
        'div.tools',
        {},
        el('span.grow'),
        el(
          'button.button.primary.send',
          { type: 'submit', 'aria-label': 'Send' },
          el('span', {}, 'Send'),
          el('kbd', {}, '⏎'),
          icon('up'),
        ),
      ),
    );
    this.mode(Kind.text);
  }

  /** @param {string} id of the conversation */
  show(id) {
    if (id === this.#id) return;
    this.#id = id;
    this.#text.value = store.get(draftKey(id)) ?? '';
    this.mode(Kind.text);
    this.#hint.textContent = this.#text.value ? 'Draft kept on this device' : '';
    this.#fit();
  }

  mode(kind) {
    this.#kind = kind;
    for (const button of this.#modes) button.setAttribute('aria-pressed', String(
      button.dataset.kind === kind
    ));
    this.root.classList.toggle('noting', kind === Kind.note);
    this.#text.placeholder = kind === Kind.note
      ? 'Write a note. Only the team sees it'
      : 'Write a reply';
  }

  focus() { this.#text.focus(); }

  /** Something to be written anew, before what already stands there. */
  write(words, kind) {
    this.#text.value = [words, this.#text.value].filter(Boolean).join('\n');
    this.mode(kind);
    this.#typed();
    this.focus();
  }

  #typed() {
    this.#fit();
    const { value } = this.#text;
    if (value) store.set(draftKey(this.#id), value); else store.remove(draftKey(this.#id));
    const bytes = value.length > 4000 ? new TextEncoder().encode(value).length : 0;
    this.#hint.textContent = bytes > LIMIT
      ? `${bytes - LIMIT} bytes too long`
      : value
      ? 'Draft kept on this device'
      : '';
    if (this.#kind === Kind.text) this.#on.typed(value);
  }

  #key(event) {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.#send(event.ctrlKey || event.metaKey);
  }

  #send(close) {
    const body = this.#text.value.trim();
    if (!body || new TextEncoder().encode(body).length > LIMIT) return;
    if (!this.#on.send(body, this.#kind, close)) return;
    this.#text.value = '';
    this.#typed();
    this.mode(Kind.text);
  }

  #fit() {
    this.#text.style.height = 'auto';
    this.#text.style.height = `${Math.min(this.#text.scrollHeight, 200)}px`;
  }
}
