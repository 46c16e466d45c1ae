// Drafts in the thread: a suggested reply, a summary as a note or as the reason of a transfer, and
// translations. A draft is text in a field; only the operator sends it.
// Invariant: one draft at a time is written, and it ends when another conversation is opened.

import { el, icon, paths } from '../../shared/dom.js';
import { Kind } from '../../shared/protocol.js';
import { chosen, t } from '../shell/language.js';
import { sentence } from '../shell/rest.js';
import { controls } from './controls.js';
import { DraftField } from './field.js';
import { translatable } from './messages.js';
import { stream } from './stream.js';

paths.spark = 'M10 3l1.7 4.8 4.8 1.7-4.8 1.7L10 16l-1.7-4.8-4.8-1.7 4.8-1.7L10 3zM16 14.5v3M14.5 16h3';

const REASON_MAX = 500; // characters of the reason of a transfer

/** @typedef {import('../shell/app.js').App} App */

/**
 * Adds the controls of the uses that are on.
 * @param {App} app
 * @param {AssistUse[]} uses
 */
export function assist(app, uses) { new Drafts(app, uses); }

class Drafts {
  #app;
  /** @type {AbortController?} of the draft that is being written */
  #running = null;
  /** The conversation for which it is written. */
  #id = '';
  /** @type {DraftField?} the last draft, which can be undone */
  #last = null;
  #controls;
  #field;

  /**
   * @param {App} app
   * @param {AssistUse[]} uses
   */
  constructor(app, uses) {
    this.#app = app;
    const { composer, head, log, sheet } = app.pane;
    this.#field = /** @type {HTMLTextAreaElement} */ (composer.root.querySelector('textarea'));
    this.#controls = controls(uses, {
      suggest: () => { this.#write({ use: 'suggest' }, Kind.text); },
      translate: (language) => { this.#translate(language); },
      stop: () => this.#running?.abort(),
      undo: () => {
        if (!this.#last?.undo()) this.#say(t('The draft was changed, so it stays.'));
        this.#last = null;
        this.#show('');
      },
      visitorLanguage: () => {
        const { locale } = app.pane.row?.context ?? {};
        return typeof locale === 'string' ? locale : '';
      },
    });
    composer.root.querySelector('.tools .grow')?.before(this.#controls.root);
    // The composer writes its hint whenever its text changes.
    const hint = /** @type {HTMLElement} */ (composer.root.querySelector('.modes .meta'));
    new MutationObserver(() => this.#changed()).observe(hint, { childList: true });
    addEventListener('hashchange', () => this.#changed());
    if (uses.includes('translate')) {
      translatable(log, (text, show) => this.#run(
        { use: 'translate', language: chosen || navigator.language, text },
        (words) => { show(words); return true; },
      ));
    }
    if (uses.includes('summary')) {
      head.more.add(t('Summarize'), () => { this.#write({ use: 'summary' }, Kind.note); });
      new MutationObserver(() => this.#offerReason(sheet.root)).observe(sheet.root, {
        childList: true,
      });
    }
    this.#show('');
  }

  /** Another conversation was opened, or the text was typed, sent or changed by a draft. */
  #changed() {
    if (this.#app.pane.id !== this.#id) this.#running?.abort();
    this.#show(this.#running ? t('Writing a draft') : '');
  }

  /** @param {string} words for screen readers */
  #show(words) {
    const canUndo = !!this.#last?.isWritten && this.#last.isIntact;
    this.#controls.show({ busy: !!this.#running, canUndo, words });
  }

  /** @param {string} words */
  #say(words) { this.#app.pane.actions.notify(words); }

  /**
   * Has a draft written. `take` gets all of its text so far with each piece, and returns whether to
   * go on. Returns whether the draft is complete.
   * @param {import('./stream.js').Wish} wish
   * @param {(words: string, piece: string) => boolean} take
   */
  async #run(wish, take) {
    const { pane } = this.#app;
    const { id } = pane;
    if (!id || pane.isExpecting) return false;
    this.#running?.abort();
    const own = this.#running = new AbortController();
    this.#id = id;
    this.#say('');
    this.#show(t('Writing a draft'));
    let words = '';
    try {
      await stream(id, wish, own.signal, (piece) => {
        words += piece;
        if (pane.id !== id || !take(words, piece)) own.abort();
      });
      return !own.signal.aborted;
    } catch (error) {
      if (!own.signal.aborted && pane.id === id) this.#say(sentence(error));
      return false;
    } finally {
      if (this.#running === own) {
        this.#running = null;
        this.#show(own.signal.aborted ? t('Stopped') : words && t('The draft is complete'));
      }
    }
  }

  /**
   * Writes a draft behind the text in the composer.
   * @param {import('./stream.js').Wish} wish
   * @param {string} kind
   */
  async #write(wish, kind) {
    const { composer } = this.#app.pane;
    composer.mode(kind);
    const field = this.#last = this.#fieldOf();
    composer.focus();
    await this.#run(wish, (_, piece) => field.add(piece));
    this.#show('');
  }

  /** @param {string} language */
  async #translate(language) {
    const { composer } = this.#app.pane;
    const text = this.#field.value.trim();
    if (!text) return this.#say(t('Write a reply first. Then it can be translated.'));
    const field = this.#fieldOf();
    let words = '';
    const isComplete = await this.#run({ use: 'translate', language, text }, (all) => {
      words = all;
      return field.isIntact;
    });
    if (isComplete && (field.replace(words) || field.add(words))) this.#last = field;
    this.#show('');
    composer.focus();
  }

  /** The composer's field, for the open conversation and the present kind of text. */
  #fieldOf() {
    const { pane } = this.#app;
    const { id } = pane;
    const isNote = pane.composer.root.classList.contains('noting');
    return new DraftField(this.#field, () => pane.id === id
      && pane.composer.root.classList.contains('noting') === isNote);
  }

  /**
   * Adds a button to the sheet of a transfer, which fills in the reason.
   * @param {HTMLElement} root
   */
  #offerReason(root) {
    const reason = root.querySelector(`[aria-label="${t('Transfer to')}"] textarea`);
    if (!(reason instanceof HTMLTextAreaElement) || root.querySelector('.summarize')) return;
    const button = el('button.button.quiet.summarize', { type: 'button' }, icon('spark'),
      t('Summarize the conversation'));
    button.onclick = async () => {
      const field = new DraftField(reason, () => reason.isConnected);
      button.disabled = true;
      await this.#run({ use: 'summary' }, (_, piece) => field.add(
        piece.slice(0, Math.max(0, REASON_MAX - reason.value.length))));
      button.disabled = false;
    };
    reason.before(button);
  }
}
