// The storage of an outbox: IndexedDB, shared by all tabs; localStorage where that is missing,
// blocked, full or does not answer; else memory. Items in localStorage move into the database with
// the first change that succeeds there.

import { store } from './store.js';

const TIMEOUT = 3000; // ms for one transaction
const ITEMS = 'items';

/** @typedef {import('./outbox.js').Item} Item */
/** @typedef {(all: Item[]) => {put: Item[], drop: string[]}} Change */

export class Shelf {
  #name;
  #closed;
  /** @type {Promise<IDBDatabase>?} */
  #database = null;

  /**
   * @param {string} name of the database, and prefix of the keys in localStorage
   * @param {() => void} closed is called when the database was closed by another party: it was
   *   cleared, deleted or upgraded
   */
  constructor(name, closed) { this.#name = name; this.#closed = closed; }

  /**
   * The items of localStorage, which need no waiting.
   * @returns {Item[]}
   */
  get local() {
    /** @type {(key: string) => Item?} */
    const read = store.get;
    return store.keys(this.#name).map(read).filter(Boolean);
  }

  /**
   * One transaction. `work` is called with all items and returns those to put and the ids to drop.
   * After a failure it is called again, for localStorage.
   * @param {Change} work
   * @returns {Promise<boolean>} whether the result outlives this page
   */
  async change(work) {
    /** @type {Promise<never>} */
    const timeout = new Promise((_, fail) => { setTimeout(fail, TIMEOUT); });
    try {
      const all = await Promise.race([this.#transact(work), timeout]);
      for (const id of all) store.remove(this.#name + id);
      return true;
    } catch {
      const { put, drop } = work(this.local);
      for (const id of drop) store.remove(this.#name + id);
      for (const item of put) store.set(this.#name + item.id, item);
      return store.kept(this.#name);
    }
  }

  /**
   * Durability is relaxed, without an fsync: the items survive a crash of the browser, but not a
   * loss of power.
   * @param {Change} work
   * @returns {Promise<string[]>} the ids of all items
   */
  async #transact(work) {
    const database = await this.#open();
    return new Promise((done, fail) => {
      const change = database.transaction(ITEMS, 'readwrite', { durability: 'relaxed' });
      const shelf = change.objectStore(ITEMS);
      /** @type {string[]} */
      let all = [];
      /** @type {IDBRequest<Item[]>} */
      const read = shelf.getAll();
      read.onsuccess = () => {
        const { put, drop } = work(read.result);
        for (const item of put) shelf.put(item);
        for (const id of drop) shelf.delete(id);
        all = [...read.result, ...put].map(({ id }) => id);
      };
      change.oncomplete = () => done(all);
      change.onabort = fail;
    });
  }

  /** No version is named, so a database of a later widget is opened as it is. */
  #open() {
    return this.#database ??= new Promise((done, fail) => {
      const request = indexedDB.open(this.#name);
      request.onupgradeneeded = () => request.result.createObjectStore(ITEMS, { keyPath: 'id' });
      request.onsuccess = () => {
        const { result } = request;
        result.onversionchange = result.onclose = () => {
          result.close();
          this.#database = null;
          this.#closed();
        };
        done(result);
      };
      request.onerror = fail;
      setTimeout(fail, TIMEOUT); // later changes fail at once and use localStorage
    });
  }
}
