// What was written and is not yet committed. Each message is one key of the store, so two tabs never write
// over each other; both may send it, under the same id, and the gateway stores it once.
// Invariant: within a session, messages go out in the order they were written, and an item leaves only by
// its ack, by its own message frame, or by its writer's hand.

import { Ask, Fault, Tell } from './protocol.js';
import { store } from './store.js';
import { uuid } from './uuid.js';

/** @typedef {{id: string, session: string|null, kind: string, body: string, at: number, failed?: string}} Item */

export class Outbox {
  /** @type {Item[]} */ items = [];
  /** Until when the gateway asked us to wait, and why. */ pausedUntil = 0; cause = '';
  #prefix; #link; #changed; #acked; #flying = new Map(); #timer = 0; #failures = 0; #halted = false;

  /** @param {string} prefix @param {import('./socket.js').Link} link
   *  @param {{changed: () => void, acked: (item: Item, ack: any) => void}} on */
  constructor(prefix, link, on) {
    this.#prefix = prefix;
    this.#link = link;
    this.#changed = on.changed;
    this.#acked = on.acked;
    this.items = store.keys(prefix).map((key) => store.get(key)).filter((item) => item?.id);
  }

  /** Not failed, so they go out by themselves. */
  get waiting() { return this.items.filter((item) => !item.failed); }

  add(session, body, kind = 'text') {
    const item = { id: uuid(), session, kind, body, at: Date.now() };
    this.items.push(item);
    this.#keep(item);
    return item;
  }

  /** A conflict of ids can only be solved by a new one. */
  retry(item, session = item.session) {
    this.remove(item.id);
    const again = { ...item, session, failed: undefined };
    if (item.failed === Fault.idConflict) again.id = uuid();
    this.items.push(again);
    this.#keep(again);
  }

  remove(id) {
    const had = this.items.length;
    this.items = this.items.filter((item) => item.id !== id);
    this.#flying.delete(id);
    store.remove(this.#prefix + id);
    if (this.items.length !== had) this.#changed();
  }

  /** Sends what may be sent now: `session` is subscribed, nothing failed before, the window has room. */
  pump(session) {
    const now = Date.now();
    if (this.#halted || this.#link.state !== 'open') return;
    if (now < this.pausedUntil) return this.#again(session, this.pausedUntil - now);
    const room = this.#link.welcome?.limits?.in_flight ?? 8;
    for (const item of this.items) {
      if (this.#flying.size >= room) return;
      if (item.failed || this.#flying.has(item.id)) continue;
      if (item.session === null) { item.session = session; this.#keep(item); }
      if (item.session !== session) continue;
      this.#flying.set(item.id, item);
      const { id, kind, body } = item;
      this.#link.ask({ type: Ask.send, session, id, kind, body }, (answer) => this.#answered(item, answer));
    }
  }

  #answered(item, answer) {
    this.#flying.delete(item.id);
    if (answer.type === Tell.ack) {
      this.#failures = 0;
      this.cause = '';
      this.#acked(item, answer);
      this.remove(item.id);
    } else if (answer.code === Fault.disconnected) {
      this.#halted = false;
      return;
    } else if (answer.retry || answer.code === Fault.notSubscribed) {
      // The rest of the pipeline is answered the same way: wait for that, then begin again in order.
      this.#halted = true;
      this.cause = answer.code;
      const wait = answer.retry_after_ms ?? Math.min(30_000, 500 * 2 ** this.#failures);
      this.pausedUntil = Math.max(this.pausedUntil, Date.now() + wait);
    } else {
      item.failed = answer.code;
      this.#keep(item);
    }
    if (this.#flying.size === 0 && this.#halted) { this.#halted = false; this.#failures += 1; }
    this.#changed();
    if (item.session) this.pump(item.session);
  }

  #again(session, delay) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.pump(session), delay);
  }

  #keep(item) { store.set(this.#prefix + item.id, item); this.#changed(); }
}
