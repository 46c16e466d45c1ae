// sessionStorage that does not throw: what a tab keeps over a reload.

export const tab = {
  /** @param {string} key */
  get(key) { try { return sessionStorage[key] ?? ''; } catch { return ''; } },
  /**
   * @param {string} key
   * @param {string} value
   */
  set(key, value) { try { sessionStorage[key] = value; } catch { /* blocked or full */ } },
};
