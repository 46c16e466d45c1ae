// Who else is in a conversation: the visitor's page, and colleagues who look at it. Told by the
// gateway, and told to it; nothing of it is stored.

import { Command } from '../../shared/protocol.js';

export class Presence {
  /** @type {Map<string, {online: boolean?, viewers: Map<string, any>}>} */ #sessions = new Map();
  #link; #me; #viewed = '';

  /** @param {any} link @param {{id: string}} me */
  constructor(link, me) { this.#link = link; this.#me = me; }

  heard({ session, who, online, viewing, active }) {
    const known = this.of(session);
    if (who.kind === 'visitor') known.online = online ?? known.online;
    else if (who.id !== this.#me.id) {
      if (viewing ?? active ?? online) known.viewers.set(who.id, who);
      else known.viewers.delete(who.id);
    }
    this.#sessions.set(session, known);
  }

  /** @param {string} session */
  of(session) { return this.#sessions.get(session) ?? { online: null, viewers: new Map() }; }

  /** The conversation that is open and seen, '' for none; colleagues learn of it. */
  view(session) {
    if (session === this.#viewed) return;
    if (this.#viewed) this.#tell(this.#viewed, false);
    this.#viewed = session;
    if (session) this.#tell(session, true);
  }

  /** A new connection knows nothing: who viewed comes anew, and so do we. */
  renewed() {
    this.#sessions.clear();
    this.#viewed = '';
  }

  #tell(session, active) {
    if (Command.viewing) this.#link.tell({ type: Command.viewing, session, active });
  }
}
