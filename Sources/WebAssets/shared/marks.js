// Read and delivered marks of one session: those of all participants, and our own. Marks only grow.
// Our own are cumulative and go out at most once a second for each kind.

const MARKS_EVERY = 1000; // ms

/**
 * The maximum of two marks.
 * @param {Mark=} one
 * @param {Mark=} two
 * @returns {Mark}
 */
const latest = (one, two) => ({
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
  #send;
  #sent = latest();
  #due = latest();
  #timer = 0;

  /**
   * @param {{kind: string, id: string}} me
   * @param {(signal: Signal) => boolean} send returns false while nothing can be sent
   */
  constructor(me, send) {
    this.#me = me;
    this.#send = send;
  }

  /** @param {Mark} mark */
  put(mark) {
    const key = keyOf(mark.who);
    this.#all.set(key, latest(mark, this.#all.get(key)));
  }

  /**
   * Takes the gateway's state over. Marks of ours that it does not have go out again.
   * @param {Mark[]=} marks
   */
  replace(marks = []) {
    this.#all.clear();
    for (const mark of marks) this.put(mark);
    this.#sent = this.#own();
    this.#flush();
  }

  #own() { return latest(this.#all.get(keyOf(this.#me))); }

  forget() { this.#due = latest(); }

  /**
   * The latest mark of all participants of one kind.
   * @param {string} kind
   */
  reached(kind) {
    return [...this.#all.values()].filter(({ who }) => who?.kind === kind)
      .reduce((one, two) => latest(one, two), latest());
  }

  /** The last seq that we have read, in this tab or another. */
  get read() { return latest(this.#own(), this.#due).read; }

  /**
   * @param {'read' | 'delivered'} type
   * @param {number} seq everything up to it
   */
  confirm(type, seq) {
    if (seq <= this.#due[type]) return;
    this.#due[type] = seq;
    if (!this.#timer) this.#flush();
  }

  #flush() {
    this.#timer = 0;
    for (const type of /** @type {const} */ (['delivered', 'read'])) {
      const seq = this.#due[type];
      if (seq <= this.#sent[type] || !this.#send({ type, seq })) continue;
      this.#sent[type] = seq;
      this.#timer = setTimeout(() => this.#flush(), MARKS_EVERY);
    }
  }
}
