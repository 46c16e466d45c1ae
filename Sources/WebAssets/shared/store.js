// localStorage that cannot throw: where it is blocked or full, what was kept lives as long as the
// page.

const memory = new Map();
/** @param {string} prefix */
const begins = (prefix) => (/** @type {string} */ key) => key.startsWith(prefix);

export const store = {
  /** @param {string} key */
  get(key) {
    try { return memory.get(key) ?? JSON.parse(localStorage[key]); } catch { return null; }
  },
  /** @param {string} key @param {any} value */
  set(key, value) {
    memory.set(key, value);
    try { localStorage[key] = JSON.stringify(value); memory.delete(key); } catch { /* not there */ }
  },
  /** @param {string} key */
  remove(key) {
    memory.delete(key);
    try { delete localStorage[key]; } catch { /* nothing is kept there */ }
  },
  /** Whether nothing that begins with `prefix` lives in the page alone. */
  kept: (/** @type {string} */ prefix) => ![...memory.keys()].some(begins(prefix)),
  /**
   * Keys that begin with `prefix`, sorted.
   * @param {string} prefix
   */
  keys(prefix) {
    /** @type {string[]} */
    let kept = [];
    try { kept = Object.keys(localStorage); } catch { /* as above */ }
    return [...new Set([...memory.keys(), ...kept])].filter(begins(prefix)).sort();
  },
};
