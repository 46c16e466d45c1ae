// Keeps single letters from doing what nobody meant: somebody who types a reply types on while the
// view under it changes by itself.

export const PAUSE = 400; // ms

export class Guard {
  #until = 0;
  #root;
  #timer;

  /** @param {HTMLElement} root carries `data-guarded` as long as letters do nothing */
  constructor(root) { this.#root = root; }

  /** The view has changed by itself: a load has finished, the server has moved something. */
  touch() {
    this.#until = performance.now() + PAUSE;
    this.#root.toggleAttribute('data-guarded', true);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#root.removeAttribute('data-guarded'), PAUSE);
  }

  /** Whether this letter does nothing. Who types on is typing: the pause begins again. */
  blocks() {
    if (performance.now() >= this.#until) return false;
    this.touch();
    return true;
  }
}
