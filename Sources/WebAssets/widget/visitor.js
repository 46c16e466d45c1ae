// The identity of a visitor across pages and tabs of a site: a refresh secret in localStorage,
// which changes with each use. Tabs take turns under a lock and share the token.

import { store } from '../shared/store.js';

const SPARE = 90_000; // ms; a token that expires sooner is renewed first

/**
 * The stored answer to the token request. Before the first one there is `talk` only: whether there
 * is a conversation to return to.
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
   * @param {string} origin of the gateway
   * @param {string} workspace its public key
   * @param {import('./app.js').Given} given by the page
   */
  constructor(origin, workspace, given) {
    this.#origin = origin;
    this.#workspace = workspace;
    this.#given = given;
    this.#key = `chirrup:${workspace}`;
  }

  /**
   * If the storage is cleared while the page is open, the page keeps its identity.
   * @returns {Identity?}
   */
  get identity() { return this.#known = store.get(this.#key) ?? this.#known; }

  /**
   * Stores whether there is a conversation to return to.
   * @param {boolean} talk
   */
  keep(talk) {
    if (this.identity?.talk !== talk) store.set(this.#key, { ...this.identity, talk });
  }

  /**
   * A token that is valid for a while.
   * @param {boolean=} renew the last one was refused or expires soon
   * @param {string=} over the conversation after which a new one begins
   * @param {boolean=} again even if the last one is still valid
   * @returns {Promise<string>}
   */
  token(renew, over, again) {
    const work = async () => {
      const known = this.identity;
      const fresh = !!over && known?.session === over;
      const usable = known && Date.parse(known.expires_at) - Date.now() > SPARE && !(
        renew && known.token === this.#used
      );
      if (!usable || fresh || again) await this.#fetch(known, fresh);
      return this.#used = this.identity?.token ?? '';
    };
    return navigator.locks?.request(this.#key, work) ?? work();
  }

  /**
   * One request below /api/v1/widget/. Rejects unless the status is 2xx.
   * @param {string} path
   * @param {{method?: string, body?: object, token?: string}} options
   */
  async request(path, { method, body, token }) {
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
   * A PUT as this visitor. A new visitor gets their identity first.
   * @param {string} path
   * @param {object} body
   */
  async put(path, body) {
    return this.request(path, { method: 'PUT', body, token: await this.token() });
  }

  /** @returns {Promise<WidgetConfig>} */
  async config() {
    return (await this.request(`config?workspace=${this.#workspace}`, {})).json();
  }

  /**
   * Gets a token and stores it.
   * @param {Identity?} known
   * @param {boolean=} fresh
   */
  async #fetch(known, fresh) {
    const { identity, attributes } = this.#given;
    const answer = await this.request('token', {
      body: {
        workspace: this.#workspace,
        refresh: known?.refresh,
        session: fresh ? undefined : known?.session,
        new_session: fresh || undefined,
        identity,
        attributes,
        context: {
          page: location.origin + location.pathname, // a query may contain secrets
          referrer: document.referrer,
          title: document.title,
          locale: navigator.language,
          timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
          user_agent: navigator.userAgent,
        },
      },
    });
    store.set(this.#key, { ...await answer.json(), talk: true });
  }
}
