// Where an outbox lies: IndexedDB, shared by all tabs; localStorage where that is absent, blocked,
// full or silent; else memory, and `change` says so. What lies in localStorage moves into the
// database with the first change that succeeds there.

import { store } from './store.js';

const SILENCE = 3000; // ms after which a database that answers nothing is given up for this once
const ITEMS = 'items';

export class Shelf {
  #name;
  #emptied;
  /** @type {Promise<IDBDatabase>?} */
  #database = null;

  /**
   * @param {string} name of the database, and prefix of the keys in localStorage
   * @param {() => void} emptied the database was closed from outside: cleared, deleted, upgraded
   */
  constructor(name, emptied) { this.#name = name; this.#emptied = emptied; }

  /** What is known before any database has answered. */
  get local() { return store.keys(this.#name).map(store.get).filter(Boolean); }

  /**
   * One transaction. `work` gets everything that lies here and says what to put and which ids to
   * drop; it may be called again, after a failure.
   * @param {(all: any[]) => {put: any[], drop: string[]}} work
   * @returns {Promise<boolean>} whether it outlives this page
   */
  async change(work) {
    const silence = new Promise((_, fail) => setTimeout(fail, SILENCE));
    try {
      const all = await Promise.race([this.#transact(work), silence]);
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
   * Relaxed, without an fsync: it outlives page and browser, not the loss of power.
   * @param {any} work
   */
  async #transact(work) {
    const database = await this.#open();
    return new Promise((done, fail) => {
      const change = database.transaction(ITEMS, 'readwrite', { durability: 'relaxed' });
      const shelf = change.objectStore(ITEMS);
      /** @type {string[]} */
      let all = [];
      shelf.getAll().onsuccess = (/** @type {{target: any}} */ { target }) => {
        const { put, drop } = work(target.result);
        for (const item of put) shelf.put(item);
        for (const id of drop) shelf.delete(id);
        all = [...target.result, ...put].map(({ id }) => id);
      };
      change.oncomplete = () => done(all);
      change.onabort = fail;
    });
  }

  /** Without a version: a later one is opened as it is. */
  #open() {
    return this.#database ??= new Promise((done, fail) => {
      const request = indexedDB.open(this.#name);
      request.onupgradeneeded = () => request.result.createObjectStore(ITEMS, { keyPath: 'id' });
      request.onsuccess = () => {
        const { result } = request;
        result.onversionchange = result.onclose = () => {
          result.close();
          this.#database = null;
          this.#emptied();
        };
        done(result);
      };
      request.onerror = fail;
      setTimeout(fail, SILENCE); // then for good: one wait is enough
    });
  }
}
