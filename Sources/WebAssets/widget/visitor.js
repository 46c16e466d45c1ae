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
  #refused;
  #key;
  #used = '';
  /** @type {Identity?} */
  #known = null;

  /**
   * @param {string} origin of the gateway
   * @param {string} workspace its public key
   * @param {import('./app.js').Given} given by the page
   * @param {(error: unknown) => void} refused is called if the gateway refuses the page's identity
   */
  constructor(origin, workspace, given, refused) {
    this.#origin = origin;
    this.#workspace = workspace;
    this.#given = given;
    this.#refused = refused;
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
      if (!usable || fresh || again || this.#given.identity || this.#given.proactive) {
        await this.#fetch(known, fresh);
      }
      return this.#used = this.identity?.token ?? '';
    };
    return navigator.locks?.request(this.#key, work) ?? work();
  }

  /**
   * One request below /api/v1/widget/. Rejects unless the status is 2xx, with the problem's type as
   * `reason`.
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
    const { type, detail } = await response.json().catch(() => ({}));
    throw Object.assign(Error(detail ?? response.statusText), {
      reason: type?.split(':').pop(),
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
   * Gets a token and stores it. The page's identity is sent once: then the refresh secret stands
   * for the visitor, also when the identity has expired. A refused one is omitted from then on.
   * @param {Identity?} known
   * @param {boolean=} fresh
   * @returns {Promise<void>}
   */
  async #fetch(known, fresh) {
    const { identity, attributes, team, watcher, proactive } = this.#given;
    let answer;
    try {
      answer = await this.request('token', { body: {
        workspace: this.#workspace,
        refresh: known?.refresh,
        session: fresh ? undefined : known?.session,
        new_session: fresh || undefined,
        identity,
        attributes,
        team,
        watcher,
        proactive: proactive?.id,
        context: {
          page: location.origin + location.pathname, // a query may contain secrets
          referrer: document.referrer,
          title: document.title,
          locale: navigator.language,
          timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
          user_agent: navigator.userAgent,
        },
      } });
    } catch (error) {
      const { reason } = /** @type {{reason?: string}} */ (error);
      if (!identity || reason !== 'bad_identity') throw error;
      this.#refused(error);
    }
    if (this.#given.identity === identity) this.#given.identity = undefined;
    if (!answer) return this.#fetch(known, fresh);
    store.set(this.#key, { ...await answer.json(), talk: true });
    this.#given.proactive = undefined;
  }
}
