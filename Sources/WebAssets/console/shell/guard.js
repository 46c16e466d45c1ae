// Blocks single-letter commands for a moment after the view has changed by itself: an operator who
// is typing a reply then goes on typing.

const PAUSE = 400; // ms

export class Guard {
  #until = 0;
  #root;
  #timer = 0;

  /** @param {HTMLElement} root has the attribute `data-guarded` while letters are blocked */
  constructor(root) { this.#root = root; }

  /** The view has changed without the operator: a request has finished, or an event has arrived. */
  touch() {
    this.#until = performance.now() + PAUSE;
    this.#root.toggleAttribute('data-guarded', true);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#root.removeAttribute('data-guarded'), PAUSE);
  }

  /** Whether a letter is blocked now. A blocked letter extends the pause. */
  blocks() {
    if (performance.now() >= this.#until) return false;
    this.touch();
    return true;
  }
}
