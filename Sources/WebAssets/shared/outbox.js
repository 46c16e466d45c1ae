// What was written and is not yet committed, one for all tabs of a person. Each item lies on the
// shelf before its frame goes out, and leaves it only by its ack, by its own message frame or by
// its writer's hand.
// Invariant: within a session, items go out in the order they were written. A tab sends everything
// that lies on the shelf, oldest first, and nothing while an earlier one has no answer. So the order
// holds even where two tabs send at once; the lock only spares the second sending.

import { Event, Fault } from './protocol.js';
import { Shelf } from './shelf.js';
import { uuid } from './uuid.js';

const AT_ONCE = 8; // sends under way; the gateway takes 16 (`limits.in_flight`)
const ITEMS_MAX = 100;
const BYTES_MAX = 1 << 19; // of all bodies
const BODY_MAX = 16_384; // bytes the gateway takes, and what their escaped form may be: a frame that
const ESCAPED_MAX = 60_000; // is too large would end the connection, again and again
const AGE_MAX = 7 * 86_400_000; // ms; what is older goes out only when its writer says so again
const GONE_MAX = 1000; // ids remembered, so that no tab brings back what another has finished
const LOCK_MAX = 10_000; // ms for another tab, which may be frozen
const PAUSE = 3000; // ms, where the gateway names no time
const LAST = 1e9; // a place behind all others

/** They say something about the connection, not about the message. */
const PASSING = [Fault.not_subscribed, Fault.unauthenticated, Fault.token_expired];

/**
 * `session` is null until there is one, and then it may be any but `not`. `n` is its place in the
 * order, whatever the clocks said. `tries` counts attempts: with one and no answer it may be stored.
 * @typedef {{id: string, session: string|null, not?: string, kind: string, body: string,
 *   payload?: any, at: number, n?: number, tries: number, failed?: string}} Item
 */
/** @typedef {(item: Item) => Promise<any>} Route sends in the order of its calls */

export class Outbox {
  /** @type {Item[]} */
  items;
  /** Until when the gateway asked us to wait, 0 if it did not. */
  pausedUntil = 0;
  /** Why it did. */
  cause = '';
  /** Whether everything here would outlive this page. */
  kept = true;
  #name;
  #shelf;
  #on;
  #channel;
  /** @type {Set<string>} */
  #gone = new Set();
  #turn;
  #timer = 0;

  /**
   * @param {string} name
   * @param {{changed: () => void, acked: (item: Item, ack: any) => void,
   *   home: (item: Item) => string?, route: (session: string) => Route?}} on `home` says where an
   *   item belongs, `route` how to get there now, if at all
   */
  constructor(name, on) {
    this.#name = name;
    this.#on = on;
    this.#shelf = new Shelf(name, () => this.#sync());
    this.items = this.#shelf.local;
    try {
      this.#channel = new BroadcastChannel(name);
      this.#channel.onmessage = ({ data }) => this.#heard(data);
    } catch { /* then tabs meet on the shelf only */ }
    this.#turn = this.#sync();
    this.run();
  }

  /** Not refused, so they go out by themselves. */
  get waiting() { return this.items.filter((item) => !item.failed); }

  /**
   * What may be said of an item. Tried without an answer: nobody knows.
   * @param {Item} item
   */
  state(item) {
    return item.failed ? 'failed'
      : this.#route(item) ? 'sending' : item.tries ? 'unsure' : 'waiting';
  }

  /**
   * Says why it was not taken, or nothing. Nothing leaves to make room.
   * @param {string?} session
   * @param {string} body
   * @param {string} kind
   * @param {string=} not the conversation that it is not for
   * @param {any=} payload
   */
  add(session, body, kind, not, payload) {
    /** @param {string[]} bodies */
    const size = (bodies) => new Blob(bodies).size;
    const bodies = this.items.map((item) => item.body);
    if (size([body]) > BODY_MAX || JSON.stringify(body).length > ESCAPED_MAX) {
      return Fault.too_large;
    }
    if (bodies.length >= ITEMS_MAX || size([body, ...bodies]) > BYTES_MAX) return 'full';
    this.items.push({ id: uuid(), session, not, kind, body, payload, at: Date.now(), tries: 0 });
    this.#sync();
    this.run();
    return '';
  }

  /**
   * Behind everything else.
   * @param {{id: string}} of
   * @param {Partial<Item>=} more
   */
  retry({ id }, more) {
    this.#edit((/** @type {Item} */ item) => item.id === id, (/** @type {Item} */ last) => (
      { n: (last.n ?? 0) + 1, at: Date.now(), failed: undefined, ...more }
    ));
    this.run();
  }

  /**
   * Those will never be taken.
   * @param {(item: Item) => boolean} which
   * @param {string} failed
   */
  refuse(failed, which) {
    this.#edit((/** @type {Item} */ item) => !item.failed && which(item), () => ({ failed }));
  }

  /** @param {(item: Item) => boolean} which @param {(last: Item) => Partial<Item>} change */
  #edit(which, change) {
    this.#sync((items) => items.filter(which).map(
      (item) => Object.assign(item, change(items[items.length - 1]))
    ));
  }

  /** @param {string} id @param {any=} ack */
  remove(id, ack) {
    const item = this.items.find((it) => it.id === id);
    if (!item) return;
    this.#drop(id);
    this.#tell({ item, ack });
    this.#sync();
  }

  /** Nothing of it goes out from here any more; it stays on the shelf. */
  close() {
    this.#channel?.close();
    clearTimeout(this.#timer);
  }

  /** Sends what may be sent now. Whoever changes that calls it. */
  run() { this.#turn = this.#turn.then(() => this.#round()); }

  /** @param {any} news */
  #tell(news) { this.#channel?.postMessage(news); }

  /** @param {Item} item */
  #route(item) {
    const home = this.#on.home(item);
    return home && !this.pausedUntil && this.#on.route(home);
  }

  /** One at a time, in all tabs. */
  async #round() {
    if (!this.waiting.some((item) => this.#route(item))) return;
    const work = () => this.#send();
    try {
      const signal = /** @type {any} */ (AbortSignal).timeout(LOCK_MAX); // newer than TypeScript 4.8
      await navigator.locks.request(this.#name, { signal }, work);
    } catch { await work(); }
  }

  async #send() {
    for (;;) {
      let batch = /** @type {Item[]} */ ([]);
      await this.#sync((items) => {
        const due = items.filter((item) => !item.failed && this.#route(item));
        const session = due[0] && this.#on.home(due[0]);
        batch = due.filter((item) => this.#on.home(item) === session).slice(0, AT_ONCE);
        for (const item of batch) {
          item.session = session;
          if (Date.now() - item.at > AGE_MAX) item.failed = 'old'; else item.tries += 1;
        }
        return batch;
      });
      const ask = batch[0] && this.#route(batch[0]);
      if (!ask) return;
      const gone = await Promise.all(batch.filter((item) => !item.failed).map(
        async (item) => this.#answered(item, await ask(item))
      ));
      if (gone.some(Boolean)) return; // the next connection begins again
    }
  }

  /**
   * Whether there was no answer.
   * @param {Item} item
   * @param {any} of1 what the gateway said
   */
  #answered(item, { code, retry, ...answer }) {
    if (answer.type === Event.ack) {
      this.#on.acked(item, answer);
      this.remove(item.id, answer);
    } else if (code === Fault.disconnected) {
      return true;
    } else if (retry || PASSING.includes(code)) {
      this.#pause(answer.retry_after_ms ?? PAUSE, code);
    } else {
      this.refuse(code, (/** @type {{id: string}} */ { id }) => id === item.id);
    }
  }

  /** @param {number} wait @param {string} cause */
  #pause(wait, cause) {
    this.cause = cause;
    this.pausedUntil = Date.now() + wait;
    clearTimeout(this.#timer); // which alone ends it: the clock may be set meanwhile
    this.#timer = setTimeout(() => { this.pausedUntil = 0; this.run(); }, wait);
    this.#on.changed();
  }

  /**
   * From another tab: what is finished, or that the shelf has changed.
   * @param {{item?: Item, ack?: any}} of
   */
  #heard({ item, ack }) {
    if (item) this.#drop(item.id);
    if (item && ack) this.#on.acked(item, ack);
    this.#sync();
    this.run();
  }

  /** @param {string} id */
  #drop(id) {
    this.items = this.items.filter((item) => item.id !== id);
    if (this.#gone.size > GONE_MAX) this.#gone.clear();
    this.#gone.add(id);
    this.#on.changed();
  }

  /**
   * One change of the shelf: what others wrote comes in; what is new here, or was cleared there,
   * goes out; what is finished goes away. `work` changes items and returns those.
   * @param {((items: Item[]) => Item[])=} work
   */
  async #sync(work) {
    let news = 0;
    this.kept = await this.#shelf.change((all) => {
      const stored = new Map(all.map((item) => [item.id, item]));
      const drop = [...this.#gone].filter((id) => stored.delete(id));
      const ours = this.items.filter(({ id }) => !stored.has(id));
      const items = [...stored.values(), ...ours].sort(
        (a, b) => (a.n ?? LAST) - (b.n ?? LAST)
      );
      let last = Math.max(0, ...items.map(({ n }) => n ?? 0));
      const put = items.filter(({ id, n }) => !n || !stored.has(id));
      for (const item of put) item.n ??= ++last;
      this.items = items;
      put.push(...work?.(items) ?? []);
      news = put.length + drop.length;
      return { put, drop };
    });
    if (news) this.#tell({});
    this.#on.changed();
  }
}
