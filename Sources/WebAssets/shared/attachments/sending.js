// Messages with files that are on their way. A parcel is on the shelf before its first byte goes
// out, and is removed when the gateway has committed its message. Only one tab sends a parcel; the
// ids of files and message are made once, so a repetition by anybody stores nothing twice.
// Invariant: a parcel is in `parcels` exactly while its message is not committed, or was not given
// up.

import { uuid } from '../uuid.js';
import { HELD_MAX } from './limits.js';
import { Shelf, bytesOf } from './shelf.js';
import { persist, Refused, upload } from './upload.js';

const AT_ONCE = 3; // files of one parcel
const SPEED_OVER = 5000; // ms over which the speed is measured
/** The answer to a message whose files the gateway does not have any more. */
const NOT_READY = 'attachments_not_ready';
const AGAIN_MAX = 3; // attempts to send the message after files that the gateway has lost

/** @typedef {import('./shelf.js').Parcel} Parcel */
/** @typedef {import('./shelf.js').ParcelFile} ParcelFile */
/** @typedef {{seq: number, at: string}} Stored */

/**
 * How far a file is: `speed` is in bytes a second.
 * @typedef {{received: number, speed: number, since: number, first: number}} Progress
 */

/**
 * @typedef {{name: string, request: (session: string) => import('./upload.js').Request,
 *   session: () => Promise<string>, changed: (parcel: Parcel) => void,
 *   committed: (parcel: Parcel, stored?: Stored) => void,
 *   flag: (is: boolean) => void}} SendingParts
 * `name` is that of the database; `session` the conversation of a parcel that has none; `committed`
 * has no place if another tab has sent it; `flag` remembers whether there is something to send
 * after a reload
 */

export class Sending {
  /** @type {Parcel[]} */
  parcels = [];
  /**
   * The parcels that only this page holds, by id.
   * @type {Set<string>}
   */
  unkept = new Set();
  /**
   * The parcels whose gateway does not answer, by id.
   * @type {Set<string>}
   */
  waiting = new Set();
  #on;
  #shelf;
  /** @type {Map<string, Progress>} */
  #progress = new Map();
  /** @type {Map<string, AbortController>} */
  #running = new Map();

  /** @param {SendingParts} on */
  constructor(on) {
    this.#on = on;
    this.#shelf = new Shelf(on.name);
  }

  /** Takes up what earlier pages have left, and what other tabs have added. */
  async restore() {
    try {
      for (const parcel of await this.#shelf.all()) {
        if (this.parcels.some(({ id }) => id === parcel.id)) continue;
        this.parcels.push(parcel);
        this.#run(parcel);
      }
    } catch (error) { console.info('chirrup', error); }
    this.#flag();
  }

  /** @param {string} id of a file */
  progress(id) { return this.#progress.get(id) ?? { received: 0, speed: 0 }; }

  /** @param {number} bytes @returns {boolean} whether so much more can be held */
  hasRoom(bytes) { return bytesOf(this.parcels) + bytes <= HELD_MAX; }

  /**
   * @param {string?} session
   * @param {string} body
   * @param {ParcelFile[]} files
   */
  async add(session, body, files) {
    /** @type {Parcel} */
    const parcel = { id: uuid(), session, body, at: Date.now(), files };
    this.parcels.push(parcel);
    await this.#keep(parcel);
    this.#flag();
    this.#run(parcel);
  }

  /**
   * Takes a file out of its parcel; the rest goes on.
   * @param {Parcel} parcel
   * @param {ParcelFile} file
   */
  async cancel(parcel, file) {
    parcel.files = parcel.files.filter((it) => it !== file);
    this.#running.get(parcel.id)?.abort(Error('cancelled'));
    this.#forget(parcel, file);
    if (!parcel.files.length) return this.remove(parcel);
    await this.#keep(parcel);
    this.retry(parcel);
  }

  /**
   * Gives a parcel up.
   * @param {Parcel} parcel
   */
  async remove(parcel) {
    this.#running.get(parcel.id)?.abort(Error('removed'));
    for (const file of parcel.files) this.#forget(parcel, file);
    await this.#drop(parcel);
    this.#on.changed(parcel);
  }

  /**
   * Sends a refused parcel again, in a new conversation if its own is over: then its files begin
   * anew too, since they belong to a conversation.
   * @param {Parcel} parcel
   * @param {boolean=} isElsewhere
   */
  async retry(parcel, isElsewhere = false) {
    for (const file of parcel.files) if (file.id === parcel.failedFile) file.id = uuid();
    parcel.failed = parcel.failedFile = undefined;
    if (isElsewhere) {
      await this.#shelf.drop(parcel.id);
      parcel.id = uuid();
      parcel.session = null;
      for (const file of parcel.files) { file.id = uuid(); file.stored = undefined; }
    }
    await this.#keep(parcel);
    this.#on.changed(parcel);
    this.#run(parcel);
  }

  /** Ends the sending by this page. */
  close() { for (const control of this.#running.values()) control.abort(Error('closed')); }

  /** @param {Parcel} parcel */
  async #keep(parcel) {
    if (await this.#shelf.keep(parcel)) this.unkept.delete(parcel.id);
    else this.unkept.add(parcel.id);
  }

  /** @param {Parcel} parcel */
  async #drop(parcel) {
    this.parcels = this.parcels.filter((it) => it !== parcel);
    this.unkept.delete(parcel.id);
    this.waiting.delete(parcel.id);
    await this.#shelf.drop(parcel.id);
    this.#flag();
  }

  #flag() { this.#on.flag(this.parcels.some(({ id }) => !this.unkept.has(id))); }

  /**
   * Deletes an upload that nobody waits for; the gateway removes it after a day otherwise. One that
   * it has refused is removed already.
   * @param {Parcel} parcel
   * @param {ParcelFile} file
   */
  async #forget({ session, failedFile }, { id, stored }) {
    const hasBegun = this.#progress.delete(id) || stored;
    if (!session || !hasBegun || id === failedFile) return;
    try { await this.#on.request(session)('DELETE', `attachments/${id}`); } catch (error) {
      console.info('chirrup', error);
    }
  }

  /** @param {Parcel} parcel */
  async #run(parcel) {
    if (parcel.failed) return;
    const control = new AbortController();
    const { signal } = control;
    this.#running.set(parcel.id, control);
    const work = () => this.#send(parcel, signal);
    try {
      await (navigator.locks?.request(`chirrup:parcel:${parcel.id}`, { signal }, work) ?? work());
    } catch (error) {
      if (signal.aborted) return; // cancelled, or the page is closing
      if (!(error instanceof Refused)) console.warn('chirrup', error);
      parcel.failed = error instanceof Refused ? error.code : 'unavailable';
      parcel.failedFile = error instanceof Refused ? error.file : undefined;
      await this.#keep(parcel);
      this.#on.changed(parcel);
    }
  }

  /**
   * @param {Parcel} parcel
   * @param {AbortSignal} signal
   */
  async #send(parcel, signal) {
    const { id } = parcel;
    if (signal.aborted) return;
    // another tab had it until now, and has sent or deleted it
    if (!this.unkept.has(id) && !await this.#shelf.has(id).catch(() => true)) {
      await this.#drop(parcel);
      return this.#on.committed(parcel);
    }
    parcel.session ??= await this.#on.session();
    const request = this.#on.request(parcel.session);
    const on = { signal, waits: (/** @type {boolean} */ is) => this.#waits(parcel, is) };
    for (let attempt = 1; ; attempt++) {
      await this.#uploadAll(parcel, request, on);
      const attachments = parcel.files.map((file) => file.id);
      const message = { id, body: parcel.body, attachments };
      const reply = await persist(request, on, 'POST', 'messages', message);
      if (reply.ok) {
        const { seq, at } = /** @type {Stored & typeof reply.body} */ (reply.body);
        await this.#drop(parcel);
        return this.#on.committed(parcel, { seq, at });
      }
      if (attempt >= AGAIN_MAX || reply.code !== NOT_READY) throw new Refused(reply.code);
      for (const file of parcel.files) file.stored = undefined;
    }
  }

  /**
   * @param {Parcel} parcel
   * @param {import('./upload.js').Request} request
   * @param {{signal: AbortSignal, waits: (isWaiting: boolean) => void}} on
   */
  async #uploadAll(parcel, request, on) {
    const due = parcel.files.filter(({ stored }) => !stored);
    const lane = async () => {
      for (let file = due.shift(); file; file = due.shift()) {
        const { id } = file;
        const progress = (/** @type {number} */ received) => {
          this.#received(parcel, file?.id ?? id, received);
        };
        file.stored = await upload(file, request, { ...on, progress });
      }
    };
    // all lanes end before the parcel does, so that a retry never meets one of them
    const lanes = await Promise.allSettled(Array.from({ length: AT_ONCE }, lane));
    const failed = lanes.find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  }

  /**
   * @param {Parcel} parcel
   * @param {string} id
   * @param {number} received
   */
  #received(parcel, id, received) {
    const now = performance.now();
    const before = this.#progress.get(id);
    if (before && now - before.since < SPEED_OVER) {
      before.received = received;
      before.speed = (received - before.first) / Math.max(0.1, (now - before.since) / 1000);
    } else {
      const speed = before?.speed ?? 0;
      this.#progress.set(id, { received, speed, since: now, first: received });
    }
    this.#on.changed(parcel);
  }

  /** @param {Parcel} parcel @param {boolean} is */
  #waits(parcel, is) {
    if (this.waiting.has(parcel.id) === is) return;
    if (is) this.waiting.add(parcel.id); else this.waiting.delete(parcel.id);
    this.#on.changed(parcel);
  }
}
