// Who this visitor is, over refreshes and in every tab of this site: a refresh secret in localStorage, which
// changes each time it is used. Tabs take turns under a lock and share the token they got.

import { store } from '../shared/store.js';

const SPARE = 90_000; // a token with less than this left is not worth a connection

/** @typedef {{refresh: string, token: string, session: string, visitor: {id: string, name: string},
 *   expires_at: string, status: string, talk?: boolean}} Identity */

export class Visitor {
  #origin; #workspace; #key; #used = '';

  constructor(origin, workspace) {
    this.#origin = origin;
    this.#workspace = workspace;
    this.#key = `chirrup:${workspace}`;
  }

  /** @returns {Identity?} */
  get identity() { return store.get(this.#key); }

  /** Remembers whether there is something to come back for. */
  keep(change) { if (this.identity) store.set(this.#key, { ...this.identity, ...change }); }

  /** A token that should work; `renew` says that the one used last does not. */
  async token(renew, fresh = false) {
    return this.#alone(async () => {
      const known = this.identity;
      const usable = known?.token && Date.parse(known.expires_at) - Date.now() > SPARE;
      if (!usable || fresh || (renew && known.token === this.#used)) await this.#ask(known, fresh);
      return this.#used = this.identity.token;
    });
  }

  async #ask(known, fresh) {
    const response = await this.post('token', {
      workspace: this.#workspace,
      refresh: known?.refresh,
      session: fresh ? undefined : known?.session,
      new_session: fresh || undefined,
      context: context(),
    });
    if (!response.ok) throw Object.assign(new Error(`token ${response.status}`), { final: [400, 403, 404].includes(response.status) });
    const answer = await response.json();
    store.set(this.#key, { ...answer, talk: !answer.fresh && !fresh && known?.talk });
  }

  post(path, body) {
    return fetch(`${this.#origin}/api/v1/widget/${path}`,
      { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body), credentials: 'omit' });
  }

  async config() {
    const response = await fetch(`${this.#origin}/api/v1/widget/config?workspace=${encodeURIComponent(this.#workspace)}`, { credentials: 'omit' });
    return response.ok ? response.json() : null;
  }

  #alone(work) { return navigator.locks ? navigator.locks.request(this.#key, work) : work(); }
}

function context() {
  const page = location.origin + location.pathname; // a query may carry secrets
  return { page, referrer: document.referrer.slice(0, 500), title: document.title.slice(0, 200), locale: navigator.language,
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone, user_agent: navigator.userAgent.slice(0, 300) };
}
