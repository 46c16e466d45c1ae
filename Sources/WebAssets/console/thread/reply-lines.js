// The file that `ReplyPart` loads. It has its own copy of the modules that it shares with the
// console.

import { ChannelLine } from './channel-line.js';
import { MailLine } from './mail-line.js';

/** The version of the sources, see `Pages`. */
export const build = BUILD;

export class ReplyLines {
  channel;
  #mail = new MailLine();

  /**
   * @param {HTMLElement} root
   * @param {() => void} changed is called when the messages are to be drawn again
   */
  constructor(root, changed) {
    this.channel = new ChannelLine(changed);
    root.replaceChildren(this.channel.root, this.#mail.root);
  }

  /** @param {import('./reply-part.js').Told} told */
  show(told) {
    this.channel.show(told.id, told.channel);
    this.#mail.show(told);
  }
}
