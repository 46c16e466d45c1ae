// The conversations that are selected in the list, for actions on all of them.

export class Selection {
  /** @type {Set<string>} */
  #ids = new Set();
  /** The row from which a range extends. */
  #anchor = '';
  #changed;

  /** @param {() => void} changed */
  constructor(changed) { this.#changed = changed; }

  get size() { return this.#ids.size; }
  /** In the order in which they were selected. */
  get ids() { return [...this.#ids]; }
  /** @param {string} id */
  has(id) { return this.#ids.has(id); }

  /** @param {string} id */
  toggle(id) {
    if (!this.#ids.delete(id)) this.#ids.add(id);
    this.#anchor = id;
    this.#changed();
  }

  /**
   * Selects the rows from the last one that was chosen to this one.
   * @param {string} id
   * @param {string[]} order of all rows
   */
  extend(id, order) {
    const to = order.indexOf(id);
    const from = order.indexOf(this.#anchor);
    if (from < 0) return this.toggle(id);
    this.add(order.slice(Math.min(from, to), Math.max(from, to) + 1));
  }

  /** @param {string[]} ids */
  add(ids) {
    for (const id of ids) this.#ids.add(id);
    this.#changed();
  }

  /**
   * Keeps those that `stays` returns true for.
   * @param {(id: string) => boolean} stays
   */
  prune(stays) { for (const id of this.#ids) if (!stays(id)) this.#ids.delete(id); }

  clear() {
    if (!this.#ids.size) return;
    this.#ids.clear();
    this.#anchor = '';
    this.#changed();
  }
}
