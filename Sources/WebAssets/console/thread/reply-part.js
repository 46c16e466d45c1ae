// Where replies go besides the chat, above the composer: to a channel, such as LINE, or by e-mail.
// Few conversations need it, so its file is loaded with the first one that does.

import { other } from '../shell/pages.js';

/**
 * The open conversation. `address` is the visitor's, '' for none; `online` is whether they have the
 * page open, null if that is not known.
 * @typedef {{id: string, channel: string, address: string, head: number, online: boolean?,
 *   isOpen: boolean}} Told
 */
/** @typedef {typeof import('./reply-lines.js')} Part */

export class ReplyPart {
  root = document.createElement('div');
  /** @type {import('./reply-lines.js').ReplyLines | undefined} */
  #lines;
  /** The conversation for which the file was requested. */
  #asked = '';
  /** @type {Told | undefined} */
  #told;
  #changed;

  /** @param {() => void} changed is called when the messages are to be drawn again */
  constructor(changed) { this.#changed = changed; }

  /** What became of messages on a channel; undefined while no conversation needed it. */
  get channel() { return this.#lines?.channel; }

  /** @param {Told} told */
  async show(told) {
    this.#told = told;
    if (this.#lines) return this.#lines.show(told);
    if (this.#asked === told.id || (told.channel === 'web' && !told.address)) return;
    this.#asked = told.id;
    try {
      /** @type {Part} */
      const { ReplyLines } = await other(() => import(REPLIES));
      this.#lines ??= new ReplyLines(this.root, this.#changed);
      this.#lines.show(this.#told);
    } catch {
      // The connection's own line tells of it; the next conversation tries again.
    }
  }
}
