// What was written and is not yet committed. Each message is one key of the store, so two tabs
// never write over each other; both may send it, under the same id, and the gateway stores it once.
// Invariant: within a session, messages go out in the order they were written, and an item leaves
// only by its ack, by its own message frame, or by its writer's hand.

import { Ask, Fault, Tell } from './protocol.js';
import { store } from './store.js';
import { uuid } from './uuid.js';

/**
 * @typedef {{id: string, session: string|null, kind: string, body: string, at: number, failed?:
 *   string}} Item
 */

export class Outbox {
  /** @type {Item[]} */ items;
  /** Until when the gateway asked us to wait, and why. */ pausedUntil = 0; cause = '';
  #prefix; #link; #on; #flying = new Set(); #timer = 0; #failures = 0; #halted = false;

  /** @param {string} prefix @param {import('./socket.js').Link} link
   *  @param {{changed: () => void, acked: (item: Item, ack: any) => void}} on */
  constructor(prefix, link, on) {
    this.#prefix = prefix;
    this.#link = link;
    this.#on = on;
    this.items = store.keys(prefix).map(store.get).filter(Boolean);
  }

  /** Not failed, so they go out by themselves. */
  get waiting() { return this.items.filter((item) => !item.failed); }

  add(session, body, kind = 'text') {
    this.#keep({ id: uuid(), session, kind, body, at: Date.now() });
  }

  /** A conflict of ids can only be solved by a new one. */
  retry(item, session = item.session) {
    this.remove(item.id);
    this.#keep({
      ...item,
      session,
      failed: undefined,
      ...(item.failed === Fault.id_conflict && { id: uuid() })
    });
  }

  remove(id) {
    this.items = this.items.filter((item) => item.id !== id);
    this.#flying.delete(id);
    store.remove(this.#prefix + id);
    this.#on.changed();
  }

  /**
   * Sends what may be sent now: `session` is subscribed, nothing failed before, the window has
   * room.
   */
  pump(session) {
    const wait = this.pausedUntil - Date.now();
    clearTimeout(this.#timer);
    if (this.#halted || this.#link.state !== 'open') return;
    if (wait > 0) { this.#timer = setTimeout(() => this.pump(session), wait); return; }
    for (const item of this.items) {
      if (this.#flying.size >= this.#link.welcome.limits.in_flight) return;
      if (item.failed || this.#flying.has(item.id)) continue;
      item.session ??= session;
      if (item.session !== session) continue;
      const { id, kind, body } = item;
      this.#flying.add(id);
      this.#link.ask({ type: Ask.send, session, id, kind, body }, (answer) => this.#answered(
        item,
        answer,
      ));
    }
  }

  #answered(item, answer) {
    this.#flying.delete(item.id);
    if (answer.type === Tell.ack) {
      this.#failures = 0;
      this.cause = '';
      this.#on.acked(item, answer);
      this.remove(item.id);
    } else if (answer.code === Fault.disconnected) {
      this.#halted = false;
      return; // the next connection begins again
    } else if (answer.retry) {
      // The rest of the pipeline is answered the same way: wait for that, then begin again in
      // order.
      this.#halted = true;
      this.cause = answer.code;
      this.pausedUntil = Date.now() + (answer.retry_after_ms ?? Math.min(
        30_000,
        500 * 2 ** this.#failures,
      ));
    } else {
      item.failed = answer.code;
      this.#keep(item);
    }
    if (this.#halted && !this.#flying.size) { this.#halted = false; this.#failures += 1; }
    this.#on.changed();
    this.pump(item.session);
  }

  #keep(item) {
    if (!this.items.includes(item)) this.items.push(item);
    store.set(this.#prefix + item.id, item);
    this.#on.changed();
  }
}
