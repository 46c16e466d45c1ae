// localStorage that cannot throw: where it is blocked or full, what was kept lives as long as the
// page.

const memory = new Map();

export const store = {
  /** @param {string} key */
  get(key) {
    try { return JSON.parse(localStorage.getItem(key)) ?? memory.get(key); } catch {
      return memory.get(key);
    }
  },
  set(key, value) {
    try { localStorage.setItem(key, JSON.stringify(value)); } catch { memory.set(key, value); }
  },
  remove(key) {
    memory.delete(key);
    try { localStorage.removeItem(key); } catch { /* nothing is kept there */ }
  },
  /** Keys that begin with `prefix`, sorted. */
  keys(prefix) {
    let kept = [];
    try { kept = Object.keys(localStorage); } catch { /* as above */ }
    return [...memory.keys(), ...kept].filter((key) => key.startsWith(prefix)).sort();
  },
};
