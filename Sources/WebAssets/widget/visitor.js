// Who this visitor is, over refreshes and in every tab of this site: a refresh secret in
// localStorage, which changes each time it is used. Tabs take turns under a lock and share the
// token they got.

import { store } from '../shared/store.js';

const SPARE = 90_000; // a token with less than this left is not worth a connection

/**
 * Before the first answer it holds `talk` only.
 * @typedef {{refresh: string, token: string, session: string, expires_at: string,
 *   talk?: boolean}} Identity
 */

export class Visitor {
  #origin;
  #workspace;
  #given;
  #key;
  #used = '';
  /** @type {Identity?} */
  #known = null;

  /**
   * @param {{identity?: string, attributes?: any}} given by the page
   * @param {string} origin
   * @param {string} workspace
   */
  constructor(origin, workspace, given) {
    this.#origin = origin;
    this.#workspace = workspace;
    this.#given = given;
    this.#key = `chirrup:${workspace}`;
  }

  /**
   * Who clears the storage of an open page goes on in it.
   * @returns {Identity?}
   */
  get identity() { return this.#known = store.get(this.#key) ?? this.#known; }

  /**
   * Remembers whether there is a conversation to come back to.
   * @param {boolean} talk
   */
  keep(talk) {
    if (this.identity?.talk !== talk) store.set(this.#key, { ...this.identity, talk });
  }

  /**
   * A token that should work.
   * @param {boolean=} renew the one used last does not
   * @param {boolean=} fresh for a new conversation
   * @param {boolean=} again even if the one at hand would do
   */
  token(renew, fresh, again) {
    const work = async () => {
      const known = this.identity;
      const usable = known && Date.parse(known.expires_at) - Date.now() > SPARE && !(
        renew && known.token === this.#used
      );
      if (!usable || fresh || again) await this.#ask(known, fresh);
      return this.#used = this.identity?.token ?? '';
    };
    return navigator.locks?.request(this.#key, work) ?? work();
  }

  /**
   * One request below /api/v1/widget/. Rejects unless it went well.
   * @param {string} path
   * @param {{method?: string, body?: any, token?: string}} how
   */
  async ask(path, { method, body, token }) {
    const response = await fetch(`${this.#origin}/api/v1/widget/${path}`, {
      method: method ?? (body && 'POST'),
      headers: token ? { authorization: `Bearer ${token}` } : {},
      body: body && new Blob([JSON.stringify(body)], { type: 'application/json' }),
    });
    if (response.ok) return response;
    throw Object.assign(Error(response.statusText), {
      final: /40[034]/.test(`${response.status}`),
    });
  }

  /**
   * As this visitor, who becomes one if need be.
   * @param {string} path
   * @param {any} body
   */
  async put(path, body) {
    return this.ask(path, { method: 'PUT', body, token: await this.token() });
  }

  async config() {
    return (await this.ask(`config?workspace=${this.#workspace}`, {})).json();
  }

  /** @param {Identity?} known @param {boolean=} fresh */
  async #ask(known, fresh) {
    const { identity, attributes } = this.#given;
    const got = await this.ask('token', {
      body: {
        workspace: this.#workspace,
        refresh: known?.refresh,
        session: fresh ? undefined : known?.session,
        new_session: fresh || undefined,
        identity,
        attributes,
        context: {
          page: location.origin + location.pathname, // a query may carry secrets
          referrer: document.referrer,
          title: document.title,
          locale: navigator.language,
          timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
          user_agent: navigator.userAgent,
        },
      },
    });
    store.set(this.#key, { ...await got.json(), talk: true });
  }
}
