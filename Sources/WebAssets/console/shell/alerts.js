// What calls an operator who looks elsewhere: a sound and a notification of the desktop, each with
// a switch that is remembered on this device. A sound is two tones, made here: no file is loaded.

import { store } from '../../shared/store.js';
import { nameOf, unreadOf } from '../inbox/inbox.js';

const KEY = 'chirrup:console:alerts';
const QUIET = 1500; // ms between two sounds

export class Alerts {
  #on; #chosen; #audio = /** @type {AudioContext?} */ (null); #last = 0; #shown = new Map();

  /** @param {{me: {id: string}, open: (id: string) => void, current: () => string}} on */
  constructor(on) {
    this.#on = on;
    this.#chosen = { sound: true, desktop: false, letters: true, ...store.get(KEY) };
    // browsers let a page sound only after it was used
    addEventListener('pointerdown', () => this.#unlock(), { once: true });
    addEventListener('keydown', () => this.#unlock(), { once: true });
  }

  get sound() { return this.#chosen.sound; }
  get letters() { return this.#chosen.letters; }
  /** What the browser allows counts, not only what was chosen. */
  get desktop() { return this.#chosen.desktop && permission() === 'granted'; }
  get isRefused() { return permission() === 'denied'; }

  /** @param {'sound'|'desktop'|'letters'} what @param {boolean} yes */
  async choose(what, yes) {
    if (what === 'desktop' && yes && permission() === 'default') {
      await Notification.requestPermission();
    }
    this.#chosen = { ...this.#chosen, [what]: yes };
    store.set(KEY, this.#chosen);
    if (what === 'sound' && yes) this.#ring(true);
  }

  /** A row came by the socket: is it news for this operator? */
  heard(row, known) {
    if (!row) return;
    const mine = row.assignee?.id === this.#on.me.id;
    const isNew = row.status === 'waiting' && known?.status !== 'waiting';
    const isGiven = mine && known && known.assignee?.id !== row.assignee.id;
    const isSaid = mine && row.last_message?.role === 'visitor'
      && row.last_seq > (known?.last_seq ?? 0);
    if (!isNew && !isGiven && !isSaid) return;
    if (document.hasFocus()) {
      // who looks at the words needs no sound; who waits is heard of anyway
      if (isNew || (isSaid && this.#on.current() !== row.id)) this.#ring(isNew);
      return;
    }
    this.#ring(isNew);
    const name = nameOf(row);
    const words = row.last_message?.preview ?? '';
    if (isNew) this.#notify(row, 'A visitor is waiting', `${name}: ${words}`);
    else if (isGiven) this.#notify(row, 'Conversation assigned to you', `${name}: ${words}`);
    else this.#notify(row, name, words);
  }

  /** What was read or taken needs no reminder. */
  settled(row) {
    const note = this.#shown.get(row?.id);
    if (note && !unreadOf(row)) { note.close(); this.#shown.delete(row.id); }
  }

  #notify(row, title, body) {
    if (!this.desktop) return;
    try {
      const note = new Notification(title, {
        body,
        tag: row.id,
        icon: ICON,
      });
      note.onclick = () => { focus(); this.#on.open(row.id); note.close(); };
      this.#shown.set(row.id, note);
    } catch { /* browsers on phones take notifications from service workers only */ }
  }

  #unlock() {
    try { this.#audio ??= new AudioContext(); this.#audio.resume(); } catch { /* no sound here */ }
  }

  /** Two tones upwards for a new visitor, one for a message. */
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

const permission = () => ('Notification' in window ? Notification.permission : 'denied');
