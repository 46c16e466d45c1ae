// Messages with files that are not committed yet, in IndexedDB: the browser forgets the handle of a
// file when the page is reloaded, so the bytes are kept until they are sent. A parcel that does not
// fit, or a browser without the database, leaves it to the page's memory.

import { KEPT_MAX } from './limits.js';

const PARCELS = 'parcels';
const TIMEOUT = 3000; // ms for the database to open

/**
 * A file of a parcel. `id` is the attachment's; `stored` what the gateway has made of it.
 * @typedef {{id: string, name: string, type: string, bytes: number, alt: string, blob: Blob,
 *   width?: number, height?: number, stored?: AttachmentFile}} ParcelFile
 */
/**
 * A message with files. `id` is the message's; without a session it begins a conversation.
 * @typedef {{id: string, session: string | null, body: string, at: number, files: ParcelFile[],
 *   failed?: string, failedFile?: string}} Parcel
 */

export class Shelf {
  #name;
  /** @type {Promise<IDBDatabase>?} */
  #database = null;

  /** @param {string} name of the database */
  constructor(name) { this.#name = name; }

  #open() {
    return this.#database ??= new Promise((done, fail) => {
      const request = indexedDB.open(this.#name);
      request.onupgradeneeded = () => request.result.createObjectStore(PARCELS, { keyPath: 'id' });
      request.onsuccess = () => {
        const { result } = request;
        result.onversionchange = result.onclose = () => {
          result.close();
          this.#database = null;
        };
        done(result);
      };
      request.onerror = () => fail(request.error);
      setTimeout(fail, TIMEOUT, Error('the database does not open'));
    });
  }

  /**
   * One transaction, until it is complete.
   * @template T
   * @param {IDBTransactionMode} mode
   * @param {(store: IDBObjectStore, give: (value: T) => void) => void} work
   * @returns {Promise<T | undefined>}
   */
  async #transact(mode, work) {
    const database = await this.#open();
    return new Promise((done, fail) => {
      const change = database.transaction(PARCELS, mode);
      /** @type {T | undefined} */
      let value;
      work(change.objectStore(PARCELS), (it) => { value = it; });
      change.oncomplete = () => done(value);
      change.onabort = () => fail(change.error);
    });
  }

  /**
   * All parcels, oldest first.
   * @returns {Promise<Parcel[]>}
   */
  async all() {
    /** @type {Parcel[] | undefined} */
    const all = await this.#transact('readonly', (store, give) => {
      /** @type {IDBRequest<Parcel[]>} */
      const read = store.getAll();
      read.onsuccess = () => give(read.result);
    });
    return (all ?? []).sort((a, b) => a.at - b.at);
  }

  /** @param {string} id @returns {Promise<boolean>} */
  async has(id) {
    /** @type {boolean | undefined} */
    const found = await this.#transact('readonly', (store, give) => {
      const count = store.count(id);
      count.onsuccess = () => give(count.result > 0);
    });
    return !!found;
  }

  /**
   * Whether it was kept: not if there is no room.
   * @param {Parcel} parcel
   * @returns {Promise<boolean>}
   */
  async keep(parcel) {
    try {
      const kept = await this.#transact('readwrite', (store, give) => {
        /** @type {IDBRequest<Parcel[]>} */
        const read = store.getAll();
        read.onsuccess = () => {
          const others = read.result.filter(({ id }) => id !== parcel.id);
          const isRoom = bytesOf([...others, parcel]) <= KEPT_MAX;
          if (isRoom) store.put(parcel);
          give(isRoom);
        };
      });
      return !!kept;
    } catch (error) {
      console.info('chirrup', error);
      return false;
    }
  }

  /** @param {string} id */
  async drop(id) {
    try { await this.#transact('readwrite', (store) => { store.delete(id); }); } catch (error) {
      console.info('chirrup', error);
    }
  }
}

/** @param {Parcel[]} parcels */
export const bytesOf = (parcels) => parcels.flatMap(({ files }) => files).reduce(
  (sum, { bytes }) => sum + bytes,
  0,
);
