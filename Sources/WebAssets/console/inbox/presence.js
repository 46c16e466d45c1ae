// Presence in conversations: whether the visitor has the page open, and which colleagues view the
// conversation. Nothing of it is stored.

import { Command } from '../../shared/protocol.js';

export class Presence {
  /** @type {Map<string, {online: boolean?, viewers: Map<string, Person>}>} */
  #sessions = new Map();
  #link;
  #me;
  /** The session that is reported as viewed, or ''. */
  #viewed = '';

  /**
   * @param {import('../../shared/socket.js').Link} link
   * @param {{id: string}} me
   */
  constructor(link, me) { this.#link = link; this.#me = me; }

  /** @param {PresenceFrame} frame */
  receive({ session, who, online, viewing }) {
    const known = this.of(session);
    if (who.kind === 'visitor') known.online = online ?? known.online;
    else if (who.id !== this.#me.id) {
      if (viewing ?? online) known.viewers.set(who.id, who);
      else known.viewers.delete(who.id);
    }
    this.#sessions.set(session, known);
  }

  /** @param {string} session */
  of(session) { return this.#sessions.get(session) ?? { online: null, viewers: new Map() }; }

  /** @param {string} session of which no presence is received any more */
  forget(session) { this.#sessions.delete(session); }

  /**
   * Reports the conversation that this operator views.
   * @param {string} session '' for none
   */
  view(session) {
    if (session === this.#viewed) return;
    if (this.#viewed) this.#send(this.#viewed, false);
    this.#viewed = session;
    if (session) this.#send(session, true);
  }

  /** A new connection begins without presence: both sides report anew. */
  renewed() {
    this.#sessions.clear();
    this.#viewed = '';
  }

  /**
   * @param {string} session
   * @param {boolean} active
   */
  #send(session, active) {
    this.#link.send({ type: Command.viewing, session, active });
  }
}
