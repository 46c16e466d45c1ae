// Signed addresses of files. They end after some minutes, so they are fetched when they are needed:
// those of one moment in one request.

const SPARE = 30_000; // ms; an address that ends sooner is fetched anew
const BATCH_MAX = 50; // ids of one request
const GATHER = 30; // ms

/** @typedef {{id: string, url: string, thumbnail_url?: string, expires_at: string}} FileLink */

export class Links {
  #fetch;
  #origin;
  /** @type {Map<string, FileLink>} */
  #known = new Map();
  /** @type {Map<string, {promise: Promise<FileLink?>, done: (link: FileLink?) => void}>} */
  #wanted = new Map();

  /**
   * @param {string} origin of the gateway
   * @param {(ids: string[]) => Promise<FileLink[]>} fetch
   */
  constructor(origin, fetch) {
    this.#origin = origin;
    this.#fetch = fetch;
  }

  /**
   * The address of a file, null if the gateway gives none.
   * @param {string} id
   * @param {boolean=} isBroken whether the known one did not work
   * @returns {Promise<FileLink?>}
   */
  async of(id, isBroken = false) {
    const known = this.#known.get(id);
    if (known && !isBroken && Date.parse(known.expires_at) - Date.now() > SPARE) return known;
    const pending = this.#wanted.get(id);
    if (pending) return pending.promise;
    if (!this.#wanted.size) setTimeout(() => this.#gathered(), GATHER);
    /** @type {(link: FileLink?) => void} */
    let done = () => {};
    /** @type {Promise<FileLink?>} */
    const promise = new Promise((give) => { done = give; });
    this.#wanted.set(id, { promise, done });
    return promise;
  }

  async #gathered() {
    const wanted = [...this.#wanted];
    this.#wanted.clear();
    for (let from = 0; from < wanted.length; from += BATCH_MAX) {
      const some = wanted.slice(from, from + BATCH_MAX);
      /** @type {FileLink[]} */
      let links = [];
      try { links = await this.#fetch(some.map(([id]) => id)); } catch (error) {
        console.info('chirrup', error);
      }
      for (const link of links) this.#known.set(link.id, this.#whole(link));
      const given = new Set(links.map(({ id }) => id));
      for (const [id, { done }] of some) done((given.has(id) && this.#known.get(id)) || null);
    }
  }

  /** @param {FileLink} link whose addresses may be relative */
  #whole(link) {
    const { origin } = new URL(this.#origin || location.origin);
    /** @param {string} url */
    const whole = (url) => new URL(url, origin).href;
    return {
      ...link,
      url: whole(link.url),
      ...(link.thumbnail_url && { thumbnail_url: whole(link.thumbnail_url) }),
    };
  }
}

/**
 * Lets the browser store a file. A frame or a new tab would be left empty by a download.
 * @param {FileLink} link
 * @param {string} name
 */
export function download({ url }, name) {
  const link = document.createElement('a');
  link.href = `${url}&download=1`;
  link.download = name;
  link.rel = 'noopener';
  link.target = '_blank';
  document.documentElement.append(link);
  link.click();
  link.remove();
}
