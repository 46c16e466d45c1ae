// localStorage that cannot throw: where it is blocked or full, what was kept lives as long as the
// page.

const memory = new Map();

export const store = {
  /** @param {string} key */
  get(key) {
    try { return memory.get(key) ?? JSON.parse(localStorage.getItem(key)); } catch { return null; }
  },
  set(key, value) {
    memory.delete(key);
    try { localStorage.setItem(key, JSON.stringify(value)); } catch { memory.set(key, value); }
  },
  remove(key) {
    memory.delete(key);
    try { localStorage.removeItem(key); } catch { /* nothing is kept there */ }
  },
  /** Whether nothing that begins with `prefix` lives in the page alone. */
  kept: (prefix) => ![...memory.keys()].some((key) => key.startsWith(prefix)),
  /** Keys that begin with `prefix`, sorted. */
  keys(prefix) {
    let kept = [];
    try { kept = Object.keys(localStorage); } catch { /* as above */ }
    return [...new Set([...memory.keys(), ...kept])].filter(
      (key) => key.startsWith(prefix)
    ).sort();
  },
};
