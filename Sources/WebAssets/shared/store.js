// localStorage that does not throw. Where it is blocked or full, values live in memory until the
// page is closed.

/** @type {Map<string, unknown>} */
const memory = new Map();
/**
 * @param {string} prefix
 * @returns {(key: string) => boolean}
 */
const begins = (prefix) => (key) => key.startsWith(prefix);

export const store = {
  /**
   * The value as `set` stored it, null if there is none.
   * @template T
   * @param {string} key
   * @returns {T?}
   */
  get(key) {
    try {
      return /** @type {T?} */ (memory.get(key)) ?? JSON.parse(localStorage[key]);
    } catch { return null; }
  },
  /**
   * @param {string} key
   * @param {unknown} value
   */
  set(key, value) {
    memory.set(key, value);
    try {
      localStorage[key] = JSON.stringify(value);
      memory.delete(key);
    } catch { /* it stays in memory */ }
  },
  /** @param {string} key */
  remove(key) {
    memory.delete(key);
    try { delete localStorage[key]; } catch { /* blocked: nothing is stored there */ }
  },
  /**
   * Whether all values whose keys begin with `prefix` outlive the page.
   * @param {string} prefix
   */
  kept: (prefix) => ![...memory.keys()].some(begins(prefix)),
  /**
   * Keys that begin with `prefix`, sorted.
   * @param {string} prefix
   */
  keys(prefix) {
    /** @type {string[]} */
    let stored = [];
    try { stored = Object.keys(localStorage); } catch { /* blocked */ }
    return [...new Set([...memory.keys(), ...stored])].filter(begins(prefix)).sort();
  },
};
