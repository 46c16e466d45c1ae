// A visitor who sends test messages: by the widget's token and socket, so that a message that
// arrives shows that those of a website's visitors arrive.

import { Command, Event, Kind } from '../../shared/protocol.js';
import { Link } from '../../shared/socket.js';
import { uuid } from '../../shared/uuid.js';
import { visitorToken } from '../shell/api.js';

const TIMEOUT = 10_000; // ms until the acknowledgement

export class TestVisitor {
  #key;
  /** @type {string=} the secret with which the visitor returns to the conversation */
  #refresh;
  #session = '';

  /** @param {string} key the public key of the workspace */
  constructor(key) { this.#key = key; }

  async #token() {
    const answer = await visitorToken({
      workspace: this.#key,
      ...(this.#refresh && { refresh: this.#refresh }),
      context: { page: location.origin + location.pathname, title: 'Setup' },
    });
    this.#refresh = answer.refresh;
    this.#session = answer.session;
    return answer.token;
  }

  /**
   * Sends a message and waits until it is stored.
   * @param {string} body
   * @returns {Promise<{session: string, milliseconds: number}>}
   */
  async send(body) {
    const token = await this.#token();
    const session = this.#session;
    /** @type {Link?} */
    let link = null;
    let timer = 0;
    try {
      return await new Promise((done, failed) => {
        const fail = () => failed(new Error('no acknowledgement'));
        timer = setTimeout(fail, TIMEOUT);
        link = new Link({
          origin: location.origin,
          client: 'setup',
          token: async () => token,
          opened: () => {
            const began = performance.now();
            link?.request({ type: Command.subscribe, session, tail: 0 }, (answer) => {
              if (answer.type === Event.error) fail();
            });
            const message = { session, id: uuid(), kind: Kind.text, body };
            link?.request({ type: Command.send, ...message }, (answer) => {
              const milliseconds = Math.max(1, Math.round(performance.now() - began));
              if (answer.type === Event.ack) done({ session, milliseconds });
              else fail();
            });
          },
          changed: () => { if (link?.state === 'stopped') fail(); },
          frame: () => {},
        });
        link.start();
      });
    } finally {
      clearTimeout(timer);
      /** @type {Link?} */ (link)?.stop();
    }
  }
}
