// How far everybody has come in one session, and how far we have. Marks only grow; ours go out
// cumulative, at most one frame a second for each kind.

const MARKS_EVERY = 1000;

/** @typedef {{who?: {kind: string, id: string}, read: number, delivered: number}} Mark */

/**
 * The further of two.
 * @param {Mark=} one
 * @param {Mark=} two
 * @returns {Mark}
 */
const further = (one, two) => ({
  ...one,
  read: Math.max(one?.read ?? 0, two?.read ?? 0),
  delivered: Math.max(one?.delivered ?? 0, two?.delivered ?? 0),
});

/** @param {{kind: string, id: string}=} who */
const keyOf = (who) => `${who?.kind}${who?.id}`;

export class Marks {
  /** @type {Map<string, Mark>} */
  #all = new Map();
  #me;
  #tell;
  #sent = further();
  #due = further();
  #timer = 0;

  /**
   * @param {{kind: string, id: string}} me
   * @param {(frame: any) => boolean} tell false while nothing can be sent
   */
  constructor(me, tell) {
    this.#me = me;
    this.#tell = tell;
  }

  /** @param {Mark} mark */
  put(mark) {
    const key = keyOf(mark.who);
    this.#all.set(key, further(mark, this.#all.get(key)));
  }

  /**
   * What the server knows counts: ours that it does not know go out again.
   * @param {Mark[]=} marks
   */
  replace(marks = []) {
    this.#all.clear();
    for (const mark of marks) this.put(mark);
    this.#sent = this.#own();
    this.#flush();
  }

  #own() { return further(this.#all.get(keyOf(this.#me))); }

  forget() { this.#due = further(); }

  /**
   * How far one side has come: the furthest of its people.
   * @param {string} kind
   */
  reached(kind) {
    return [...this.#all.values()].filter(({ who }) => who?.kind === kind).reduce((one, two) => further(one, two), further());
  }

  /** The last seq we have read, in this tab or another. */
  get read() { return further(this.#own(), this.#due).read; }

  /** @param {'read'|'delivered'} what @param {number} seq */
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
