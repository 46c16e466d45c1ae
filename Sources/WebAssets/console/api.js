// The REST side of the console. The cookie is HttpOnly; the token it gives is for the socket only.

import { store } from '../shared/store.js';

const LIST = '/api/v1/admin/live-chat/conversations';
const KNOWN = 'chirrup:console:known'; // a cookie may exist: worth asking

/** An answer that is not 2xx, with the problem document it carried (RFC 9457). */
export class Problem extends Error {
  constructor(status, body) {
    super(body?.detail ?? body?.title ?? `HTTP ${status}`);
    this.status = status;
    /** The name a program knows it by, unless asking again may help. */
    this.code = status < 500 && status !== 429 ? body?.type?.split(':').at(-1) : undefined;
    this.body = body ?? {};
    /** The link stops for it: asking again changes nothing. */
    this.final = status === 401 || status === 403;
  }
}

async function call(method, path, body) {
  const response = await fetch(path, {
    method,
    ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  });
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw new Problem(response.status, answer);
  return answer;
}

export const api = {
  get known() { return store.get(KNOWN) === true; },
  know(yes) { store.set(KNOWN, yes); },
  login: (email, password) => call('POST', '/api/v1/auth/login', { email, password }),
  token: () => call('POST', '/api/v1/auth/token'),
  logout: () => call('POST', '/api/v1/auth/logout'),
  /** @param {Record<string, string|number|undefined>} query */
  list(query) {
    const given = Object.entries(query).filter(([, value]) => value != null);
    return call(
      'GET',
      `${LIST}?${new URLSearchParams(given.map(([key, value]) => [key, String(value)]))}`,
    );
  },
  one: (id) => call('GET', `${LIST}/${id}`),
  say: (id, message) => call('POST', `${LIST}/${id}/messages`, message),
  claim: (id) => call('POST', `${LIST}/${id}/claim`),
  close: (id) => call('POST', `${LIST}/${id}/close`),
  reopen: (id) => call('POST', `${LIST}/${id}/reopen`),
};
