// Alerts for an operator who looks elsewhere: a sound and a desktop notification, each with a
// switch that this device stores. The sounds are synthesised, so no file is loaded.

import { store } from '../../shared/store.js';
import { nameOf, unreadOf } from '../inbox/inbox.js';
import { dismiss, notify } from '../install/install.js';
import { t } from './language.js';

const KEY = 'chirrup:console:alerts';
const QUIET = 1500; // ms; at most one sound in this time

/** @typedef {import('../inbox/inbox.js').Row} Row */
/** @typedef {{sound: boolean, desktop: boolean, letters: boolean}} Choices */

export class Alerts {
  #on;
  /** @type {Choices} */
  #chosen;
  /** @type {AudioContext?} */
  #audio = null;
  #last = 0;
  /**
   * Open notifications by conversation.
   * @type {Map<string, Notification>}
   */
  #shown = new Map();

  /** @param {{me: {id: string}, open: (id: string) => void, current: () => string}} on */
  constructor(on) {
    this.#on = on;
    /** @type {Partial<Choices>?} */
    const stored = store.get(KEY);
    this.#chosen = { sound: true, desktop: false, letters: true, ...stored };
    // browsers allow sound only after the operator has used the page, as by the login
    if (navigator.userActivation?.hasBeenActive) this.#unlock();
    addEventListener('pointerdown', () => this.#unlock(), { once: true });
    addEventListener('keydown', () => this.#unlock(), { once: true });
  }

  get sound() { return this.#chosen.sound; }
  get letters() { return this.#chosen.letters; }
  /** Whether notifications are chosen and the browser allows them. */
  get desktop() { return this.#chosen.desktop && permission() === 'granted'; }
  get isRefused() { return permission() === 'denied'; }

  /**
   * @param {keyof Choices} name
   * @param {boolean} yes
   */
  async choose(name, yes) {
    if (name === 'desktop' && yes && permission() === 'default') {
      await Notification.requestPermission();
    }
    this.#chosen = { ...this.#chosen, [name]: yes };
    store.set(KEY, this.#chosen);
    if (name === 'sound' && yes) this.#ring(true);
  }

  /**
   * Alerts if a change of a conversation concerns this operator.
   * @param {Row | undefined} row as it is now
   * @param {Row=} known as it was
   */
  changed(row, known) {
    if (!row) return;
    const mine = row.assignee?.id === this.#on.me.id;
    const isNew = isInQueue(row) && !isInQueue(known);
    const isGiven = mine && known && known.assignee?.id !== row.assignee?.id;
    const isMessage = mine && row.last_message?.role === 'visitor'
      && row.last_seq > (known?.last_seq ?? 0);
    if (!isNew && !isGiven && !isMessage) return;
    if (document.hasFocus()) {
      // a message of the open conversation is seen already
      if (isNew || (isMessage && this.#on.current() !== row.id)) this.#ring(isNew);
      return;
    }
    this.#ring(isNew);
    const name = nameOf(row);
    const words = row.last_message?.preview ?? '';
    if (isNew) this.#notify(row, t('A visitor is waiting'), `${name}: ${words}`);
    else if (isGiven) this.#notify(row, t('Conversation assigned to you'), `${name}: ${words}`);
    else this.#notify(row, name, words);
  }

  /**
   * Closes the notification of a conversation that is read.
   * @param {Row=} row
   */
  settled(row) {
    const note = row && this.#shown.get(row.id);
    if (!row || unreadOf(row)) return;
    dismiss(row.id);
    if (note) { note.close(); this.#shown.delete(row.id); }
  }

  /**
   * @param {Row} row
   * @param {string} title
   * @param {string} body
   */
  #notify(row, title, body) {
    if (!this.desktop) return;
    const options = { body, tag: row.id, icon: ICON, data: row.id };
    try {
      const note = new Notification(title, options);
      note.onclick = () => { focus(); this.#on.open(row.id); note.close(); };
      this.#shown.set(row.id, note);
    } catch { notify(title, options); /* phones take them from service workers only */ }
  }

  #unlock() {
    try {
      this.#audio ??= new AudioContext();
      this.#audio.resume();
    } catch { /* no sound device */ }
  }

  /**
   * Two rising tones for a new conversation, one tone for a message.
   * @param {boolean} isNew
   */
  #ring(isNew) {
    const audio = this.#audio;
    if (!this.sound || audio?.state !== 'running' || Date.now() - this.#last < QUIET) return;
    this.#last = Date.now();
    for (const [index, pitch] of (isNew ? [660, 880] : [740]).entries()) {
      const tone = audio.createOscillator();
      const gain = audio.createGain();
      const from = audio.currentTime + index * 0.14;
      tone.frequency.value = pitch;
      gain.gain.setValueAtTime(0.0001, from);
      gain.gain.exponentialRampToValueAtTime(0.12, from + 0.02);
      gain.gain.exponentialRampToValueAtTime(0.0001, from + 0.3);
      tone.connect(gain).connect(audio.destination);
      tone.start(from);
      tone.stop(from + 0.32);
    }
  }
}

/**
 * A conversation is in the queue from its first message on, though its row may be known before.
 * @param {Row=} row
 */
const isInQueue = (row) => row?.status === 'waiting' && !!row.waiting_since;

const permission = () => ('Notification' in window ? Notification.permission : 'denied');
