// localStorage that cannot throw: where it is blocked or full, what was kept lives as long as the page.

const memory = new Map();

export const store = {
  /** @param {string} key */
  get(key) {
    try { return JSON.parse(localStorage.getItem(key) ?? 'null') ?? memory.get(key) ?? null; } catch { return memory.get(key) ?? null; }
  },
  set(key, value) {
    try { localStorage.setItem(key, JSON.stringify(value)); memory.delete(key); } catch { memory.set(key, value); }
  },
  remove(key) {
    memory.delete(key);
    try { localStorage.removeItem(key); } catch { /* nothing is kept there */ }
  },
  /** Keys that begin with `prefix`, sorted. */
  keys(prefix) {
    const found = new Set(memory.keys());
    try { for (const key of Object.keys(localStorage)) found.add(key); } catch { /* as above */ }
    return [...found].filter((key) => key.startsWith(prefix)).sort();
  },
};
