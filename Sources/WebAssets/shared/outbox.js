// Messages that are written and not yet committed, shared by all tabs of a person. An item is
// stored before its frame goes out; its ack, its own message frame or its author removes it.
// Invariant: the items of a session go out in the order in which they were written. A tab sends all
// stored items, oldest first, and none while an earlier one has no answer. So the order holds even
// if two tabs send at once; the lock only avoids sending twice.

import { Event, Fault } from './protocol.js';
import { Shelf } from './shelf.js';
import { uuid } from './uuid.js';

const IN_FLIGHT_MAX = 8; // sends without an answer; the gateway takes 16 (`limits.in_flight`)
const ITEMS_MAX = 100;
const BYTES_MAX = 1 << 19; // of all bodies
const BODY_MAX = 16_384; // bytes (`limits.body_bytes`)
const ESCAPED_MAX = 60_000; // characters as JSON; a larger frame would close each connection
const AGE_MAX = 7 * 86_400_000; // ms; an older item goes out only after its author retries it
const DONE_MAX = 1000; // ids of finished items, so that no other tab restores them
const LOCK_TIMEOUT = 10_000; // ms; the tab that holds the lock may be frozen
const PAUSE = 3000; // ms, if the gateway names no time
const LAST = 1e9; // an order behind all others

/**
 * Errors of the connection, not of the message.
 * @type {string[]}
 */
const CONNECTION_FAULTS = [Fault.not_subscribed, Fault.unauthenticated, Fault.token_expired];

/**
 * An item without a session is for the next one, except `not`. `n` is its place in the order, which
 * does not depend on clocks. After the first of its `tries` it may be stored, even if no answer
 * arrived. A message with files is an item that has its own `state`: it is in no outbox.
 * @typedef {{id: string, session: string | null, not?: string, kind: string, body: string,
 *   payload?: Payload, at: number, n?: number, tries: number, failed?: string,
 *   state?: string, seq?: undefined, sender?: undefined}} Item
 */
/** @typedef {{seq: number, at: string}} Stored the place of a committed message */
/** @typedef {(item: Item) => Promise<Answer>} Route sends in the order of its calls */
/**
 * TypeScript 4.8 does not know it.
 * @typedef {typeof AbortSignal & {timeout: (milliseconds: number) => AbortSignal}} Timeouts
 */
/** @typedef {{item?: Item, ack?: Stored}} News for other tabs: a finished item, or just a change */

export class Outbox {
  /** @type {Item[]} */
  items;
  /** The end of a pause that the gateway asked for, in ms of Date.now(), or 0. */
  pausedUntil = 0;
  /** The error code that caused the pause. */
  cause = '';
  /** Whether all items would outlive this page. */
  kept = true;
  #name;
  #shelf;
  #on;
  #channel;
  /** @type {Set<string>} */
  #done = new Set();
  #turn;
  #timer = 0;

  /**
   * @param {string} name of the storage, which tabs share
   * @param {{changed: () => void, acked: (item: Item, ack: Stored) => void,
   *   home: (item: Item) => string?, route: (session: string) => Route | false}} on `home` returns
   *   the session of an item, `route` the function that sends to it, or false while none can
   */
  constructor(name, on) {
    this.#name = name;
    this.#on = on;
    this.#shelf = new Shelf(name, () => this.#sync());
    this.items = this.#shelf.local;
    try {
      this.#channel = new BroadcastChannel(name);
      this.#channel.onmessage = ({ data }) => this.#receive(data);
    } catch { /* tabs then share the storage only */ }
    this.#turn = this.#sync();
    this.run();
  }

  /** Items that will be sent: those that were not refused. */
  get waiting() { return this.items.filter((item) => !item.failed); }

  /**
   * `unsure`: it was sent and has no answer, so it may be stored.
   * @param {Item} item
   * @returns {'failed' | 'sending' | 'unsure' | 'waiting'}
   */
  state(item) {
    return item.failed ? 'failed'
      : this.#route(item) ? 'sending' : item.tries ? 'unsure' : 'waiting';
  }

  /**
   * Returns the reason why the item was not added, or ''. A full outbox drops nothing.
   * @param {string?} session
   * @param {string} body
   * @param {string} kind
   * @param {string=} not the session that it is not for
   * @param {Payload=} payload
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
   * Sends a refused item again, after all others.
   * @param {{id: string}} item
   * @param {Partial<Item>=} more changes of it
   */
  retry({ id }, more) {
    this.#edit((item) => item.id === id, (last) => (
      { n: (last.n ?? 0) + 1, at: Date.now(), failed: undefined, ...more }
    )).then(() => this.run());
  }

  /**
   * Marks items that the gateway will never take.
   * @param {string} failed the error code
   * @param {(item: Item) => boolean} which
   */
  refuse(failed, which) {
    this.#edit((item) => !item.failed && which(item), () => ({ failed }));
  }

  /**
   * @param {(item: Item) => boolean} which
   * @param {(last: Item) => Partial<Item>} change gets the last item of all
   */
  #edit(which, change) {
    return this.#sync((items) => items.filter(which).map(
      (item) => Object.assign(item, change(items[items.length - 1]))
    ));
  }

  /**
   * @param {string | undefined} id
   * @param {Stored=} ack undefined if the author deleted it
   */
  remove(id, ack) {
    const item = this.items.find((it) => it.id === id);
    if (!item) return;
    this.#drop(item.id);
    this.#post({ item, ack });
    this.#sync();
  }

  /** Ends the sending from this tab. The items stay stored. */
  close() {
    this.#channel?.close();
    clearTimeout(this.#timer);
  }

  /** Sends all that can be sent now. To be called when a route opens. */
  run() { this.#turn = this.#turn.then(() => this.#round()); }

  /** @param {News} news */
  #post(news) { this.#channel?.postMessage(news); }

  /**
   * @param {Item} item
   * @returns {Route | false}
   */
  #route(item) {
    const home = this.#on.home(item);
    return !!home && !this.pausedUntil && this.#on.route(home);
  }

  /** One round at a time, over all tabs. */
  async #round() {
    if (!this.waiting.some((item) => this.#route(item))) return;
    const work = () => this.#send();
    try {
      const signal = /** @type {Timeouts} */ (AbortSignal).timeout(LOCK_TIMEOUT);
      await navigator.locks.request(this.#name, { signal }, work);
    } catch { await work(); }
  }

  async #send() {
    for (;;) {
      let batch = /** @type {Item[]} */ ([]);
      await this.#sync((items) => {
        const due = items.filter((item) => !item.failed && this.#route(item));
        const session = due[0] ? this.#on.home(due[0]) : null;
        batch = due.filter((item) => this.#on.home(item) === session).slice(0, IN_FLIGHT_MAX);
        for (const item of batch) {
          item.session = session;
          if (Date.now() - item.at > AGE_MAX) item.failed = 'old'; else item.tries += 1;
        }
        return batch;
      });
      const route = batch[0] && this.#route(batch[0]);
      if (!route) return;
      const lost = await Promise.all(batch.filter((item) => !item.failed).map(
        async (item) => this.#answered(item, await route(item))
      ));
      if (lost.some(Boolean)) return; // the next connection starts a round of its own
    }
  }

  /**
   * Returns whether the connection closed before the answer.
   * @param {Item} item
   * @param {Answer} answer
   */
  #answered(item, answer) {
    if (answer.type === Event.ack) {
      this.#on.acked(item, answer);
      this.remove(item.id, answer);
    } else if (answer.type === Event.error) {
      const { code } = answer;
      if (code === Fault.disconnected) return true;
      if (answer.retry || CONNECTION_FAULTS.includes(code)) {
        this.#pause(answer.retry_after_ms ?? PAUSE, code);
      } else {
        this.refuse(code, ({ id }) => id === item.id);
      }
    }
    return false;
  }

  /**
   * @param {number} wait ms
   * @param {string} cause
   */
  #pause(wait, cause) {
    this.cause = cause;
    this.pausedUntil = Date.now() + wait;
    clearTimeout(this.#timer); // only the timer ends the pause: the clock may be changed meanwhile
    this.#timer = setTimeout(() => { this.pausedUntil = 0; this.run(); }, wait);
    this.#on.changed();
  }

  /**
   * From another tab.
   * @param {News} news
   */
  #receive({ item, ack }) {
    if (item) this.#drop(item.id);
    if (item && ack) this.#on.acked(item, ack);
    this.#sync().then(() => this.run()); // the news may be an item that only this tab can send
  }

  /** @param {string} id */
  #drop(id) {
    this.items = this.items.filter((item) => item.id !== id);
    if (this.#done.size > DONE_MAX) this.#done.clear();
    this.#done.add(id);
    this.#on.changed();
  }

  /**
   * One transaction of the storage. Items of other tabs are added here; items that are missing
   * there are stored; finished ones are removed. `work` changes items and returns those.
   * @param {((items: Item[]) => Item[])=} work
   */
  async #sync(work) {
    let changes = 0;
    this.kept = await this.#shelf.change((all) => {
      const stored = new Map(all.map((item) => [item.id, item]));
      const drop = [...this.#done].filter((id) => stored.delete(id));
      const ours = this.items.filter(({ id }) => !stored.has(id));
      const items = [...stored.values(), ...ours].sort(
        (a, b) => (a.n ?? LAST) - (b.n ?? LAST)
      );
      let last = Math.max(0, ...items.map(({ n }) => n ?? 0));
      const put = items.filter(({ id, n }) => !n || !stored.has(id));
      for (const item of put) item.n ??= ++last;
      this.items = items;
      put.push(...work?.(items) ?? []);
      changes = put.length + drop.length;
      return { put, drop };
    });
    if (changes) this.#post({});
    this.#on.changed();
  }
}
