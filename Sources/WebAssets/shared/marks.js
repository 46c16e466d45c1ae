// How far everybody has come in one session, and how far we have. Marks only grow; ours go out
// cumulative, at most one frame a second for each kind.

const MARKS_EVERY = 1000;

export class Marks {
  #all = new Map();
  #me;
  #tell;
  #sent = { read: 0, delivered: 0 };
  #due = { read: 0, delivered: 0 };
  #timer = 0;

  /**
   * @param {{kind: string, id: string}} me
   * @param {(frame: any) => boolean} tell false while nothing can be sent
   */
  constructor(me, tell) {
    this.#me = me;
    this.#tell = tell;
  }

  put({ who, read = 0, delivered = 0 }) {
    const known = this.#all.get(who.kind + who.id);
    this.#all.set(who.kind + who.id, {
      who,
      read: Math.max(read, known?.read ?? 0),
      delivered: Math.max(delivered, known?.delivered ?? 0),
    });
  }

  /** What the server knows counts: ours that it does not know go out again. */
  replace(marks = []) {
    this.#all.clear();
    for (const mark of marks) this.put(mark);
    this.#sent = { ...this.#own };
    this.#flush();
  }

  get #own() { return this.#all.get(this.#me.kind + this.#me.id) ?? { read: 0, delivered: 0 }; }

  forget() { this.#due = { read: 0, delivered: 0 }; }

  /** How far one side has come: the furthest of its people. @param {string} kind */
  reached(kind) {
    const far = { read: 0, delivered: 0 };
    for (const { who, read, delivered } of this.#all.values()) {
      if (who.kind !== kind) continue;
      far.read = Math.max(far.read, read);
      far.delivered = Math.max(far.delivered, delivered);
    }
    return far;
  }

  /** The last seq we have read, in this tab or another. */
  get read() { return Math.max(this.#own.read, this.#due.read); }

  /** @param {'read'|'delivered'} what */
  confirm(what, seq) {
    if (seq <= this.#due[what]) return;
    this.#due[what] = seq;
    if (!this.#timer) this.#flush();
  }

  #flush() {
    this.#timer = 0;
    for (const what of /** @type {const} */ (['delivered', 'read'])) {
      const seq = this.#due[what];
      if (seq <= this.#sent[what] || !this.#tell({ type: what, seq })) continue;
      this.#sent[what] = seq;
      this.#timer = setTimeout(() => this.#flush(), MARKS_EVERY);
    }
  }
}
