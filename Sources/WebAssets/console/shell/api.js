// The REST side of the console. The cookie is HttpOnly; the token it gives is for the socket only.

import { store } from '../../shared/store.js';

const ADMIN = '/api/v1/admin';
const LIST = `${ADMIN}/live-chat/conversations`;
const PAGES = 10; // of a list that is shown whole
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

/** @param {Record<string, string|number|null|undefined>} query what is null is left out */
function get(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value != null);
  const text = new URLSearchParams(given.map(([key, value]) => [key, String(value)]));
  return call('GET', given.length ? `${path}?${text}` : path);
}

/** A whole list, page by page; what is longer than anybody reads is cut. */
async function whole(path, name) {
  const rows = /** @type {any[]} */ ([]);
  let cursor = /** @type {string?} */ (null);
  for (let page = 0; page < PAGES; page += 1) {
    const answer = await get(path, { cursor });
    rows.push(...answer[name]);
    cursor = answer.next_cursor;
    if (!cursor) break;
  }
  return { [name]: rows };
}

export const api = {
  get known() { return store.get(KNOWN) === true; },
  know(yes) { store.set(KNOWN, yes); },
  login: (email, password) => call('POST', '/api/v1/auth/login', { email, password }),
  token: () => call('POST', '/api/v1/auth/token'),
  password: (current, fresh) => call('POST', '/api/v1/auth/password', { current, new: fresh }),
  logout: () => call('POST', '/api/v1/auth/logout'),
  list: (query) => get(LIST, query),
  one: (id) => get(`${LIST}/${id}`),
  /** @param {{around?: number, before?: number, after?: number, limit?: number}} query */
  messages: (id, query) => get(`${LIST}/${id}/messages`, query),
  search: (query) => get(`${ADMIN}/live-chat/messages/search`, query),
  say: (id, message) => call('POST', `${LIST}/${id}/messages`, message),
  claim: (id) => call('POST', `${LIST}/${id}/claim`),
  next: () => call('POST', `${ADMIN}/live-chat/next`),
  transfer: (id, to, reason) => call(
    'POST',
    `${LIST}/${id}/transfer`,
    { to, ...(reason && { reason }) },
  ),
  close: (id, reason) => call('POST', `${LIST}/${id}/close`, reason ? { reason } : undefined),
  reopen: (id) => call('POST', `${LIST}/${id}/reopen`),
  setTags: (id, tags) => call('PUT', `${LIST}/${id}/tags`, { tags }),
  tags: () => whole(`${ADMIN}/tags`, 'tags'),
  members: () => whole(`${ADMIN}/members`, 'members'),
  replies: () => whole(`${ADMIN}/reply-objects`, 'reply_objects'),
  visitor: (id) => get(`${ADMIN}/visitors/${id}`),
  block: (id, yes) => call('POST', `${ADMIN}/visitors/${id}/${yes ? 'block' : 'unblock'}`),
};
